import { type ReactElement, useEffect, useRef, useState } from 'react';
import { ja } from '../strings/ja';
import { Icon } from '../theme/Icon';
import { SearchDialog } from './SearchDialog';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Opens the search. The keys `/` and Ctrl+K (⌘K) also open it. */
export function SearchButton(): ReactElement {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const comesBack = useRef(false);
  // The button cannot have the focus while the dialog is open: focuses it after the dialog has closed.
  useEffect(() => {
    if (open || !comesBack.current) return;
    comesBack.current = false;
    button.current?.focus();
  }, [open]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const shortcut =
        event.key.toLowerCase() === 'k' &&
        (event.ctrlKey || event.metaKey) &&
        !event.altKey &&
        !event.shiftKey;
      const slash =
        event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
      if (!shortcut && !slash) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
  return (
    <>
      <button
        ref={button}
        type="button"
        className="search-button"
        aria-haspopup="dialog"
        aria-label={`${ja.search.label} Ctrl K`}
        onClick={() => setOpen(true)}
      >
        <Icon name="search" />
        <span className="search-button__text">{ja.search.button}</span>
        <kbd className="search-button__key">Ctrl K</kbd>
      </button>
      {open ? (
        <SearchDialog
          close={() => {
            comesBack.current = true;
            setOpen(false);
          }}
          leave={() => setOpen(false)}
        />
      ) : null}
    </>
  );
}

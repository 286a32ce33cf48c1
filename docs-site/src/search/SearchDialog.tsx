import { navigate } from 'gatsby';
import {
  Fragment,
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { ja } from '../strings/ja';
import { isFocusLost } from '../theme/focus';
import { Icon } from '../theme/Icon';
import type { Engine, Found, Hit } from './engine';
import type { Piece } from './excerpt';
import { loadEngine } from './load';

const none: Found = { hits: [], total: 0, partial: false };

function foundText({ hits, total, partial }: Found): string {
  const text = ja.search.count(total, hits.length);
  return partial ? ja.search.partial(text) : text;
}

/** Name of a part of a call; other values are statuses. */
const partText = (part: string): string =>
  Object.hasOwn(ja.search.parts, part)
    ? ja.search.parts[part as keyof typeof ja.search.parts]
    : ja.search.answer(part);

/** Marked text. React escapes it. */
function Marked({ pieces }: { pieces: readonly Piece[] }): ReactElement {
  return (
    <>
      {pieces.map(({ text, marked }, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other key
        marked ? <mark key={index}>{text}</mark> : <Fragment key={index}>{text}</Fragment>,
      )}
    </>
  );
}

interface Props {
  /** Closes and returns the focus. */
  close(): void;
  /** Closes because the reader opens a result. */
  leave(): void;
}

/** Search dialog. It loads engine and index when it opens, reports a failure and offers to try again. */
export function SearchDialog({ close, leave }: Props): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState('');
  const [engine, setEngine] = useState<Engine>();
  const [failed, setFailed] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const [active, setActive] = useState(0);
  const id = useId();

  useEffect(() => {
    const node = dialog.current;
    node?.showModal();
    document.body.classList.add('locked');
    return () => {
      document.body.classList.remove('locked');
      node?.close();
    };
  }, []);

  useEffect(() => {
    let isStale = false;
    setFailed(false);
    void attempt;
    loadEngine().then(
      (loaded) => !isStale && setEngine(() => loaded),
      () => !isStale && setFailed(true),
    );
    return () => {
      isStale = true;
    };
  }, [attempt]);

  // A successful retry removes its button. Focuses the input only if the focus was on that button.
  useEffect(() => {
    if (engine && isFocusLost()) input.current?.focus();
  }, [engine]);

  const hasQuery = query.trim() !== '';
  const found = useMemo(() => (hasQuery && engine ? engine.find(query) : none), [hasQuery, engine, query]);
  const { hits } = found;
  const chosen = Math.min(active, hits.length - 1);

  useEffect(() => {
    if (chosen >= 0) document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen, id]);

  const go = (hit: Hit) => {
    leave();
    void navigate(hit.href);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (hits.length > 0)
        setActive((chosen + (event.key === 'ArrowDown' ? 1 : hits.length - 1)) % hits.length);
    }
    const hit = hits[chosen];
    if (event.key === 'Enter' && hit) {
      event.preventDefault();
      go(hit);
    }
  };
  const status = failed
    ? ja.search.failed
    : !engine
      ? ja.search.loading
      : !hasQuery
        ? ja.search.hint
        : hits.length === 0
          ? ja.search.none(query.trim())
          : foundText(found);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard has Escape and the close button
    <dialog
      ref={dialog}
      className="search"
      aria-label={ja.search.label}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div className="search__box">
        <div className="search__head">
          <Icon name="search" />
          <input
            ref={input}
            className="search__input"
            type="text"
            role="combobox"
            aria-label={ja.search.label}
            aria-expanded={hits.length > 0}
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
            placeholder={ja.search.placeholder}
            maxLength={100}
            autoComplete="off"
            spellCheck={false}
            autoFocus
            value={query}
            onChange={(event) => {
              setQuery(event.target.value);
              setActive(0);
            }}
            onKeyDown={pressed}
          />
          <button type="button" className="navbar__icon" aria-label={ja.search.close} onClick={close}>
            <Icon name="close" />
          </button>
        </div>
        <p className="search__status" role="status">
          {status}
          {failed || (attempt > 0 && !engine) ? (
            <button
              type="button"
              className="button button--plain"
              aria-disabled={!failed}
              onClick={() => failed && setAttempt(attempt + 1)}
            >
              {ja.error.retry}
            </button>
          ) : null}
        </p>
        <div
          id={`${id}-list`}
          className="search__list"
          role="listbox"
          aria-label={ja.search.label}
          tabIndex={-1}
        >
          {hits.map((hit, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus and the keys
            // biome-ignore lint/a11y/useKeyWithClickEvents: as above
            <div
              key={hit.href}
              id={`${id}-${index}`}
              className="search__hit"
              role="option"
              aria-selected={index === chosen}
              data-href={hit.href}
              onPointerMove={() => setActive(index)}
              onClick={() => go(hit)}
            >
              <span className="search__kind">{ja.search.kinds[hit.kind]}</span>
              <span className="search__title">
                <Marked pieces={hit.title} />
              </span>
              {hit.path.length > 0 ? (
                <span className="search__path">
                  {[...hit.path, ...(hit.part ? [partText(hit.part)] : [])].join(' › ')}
                </span>
              ) : null}
              {hit.excerpt.length > 0 ? (
                <span className="search__excerpt">
                  <Marked pieces={hit.excerpt} />
                </span>
              ) : null}
            </div>
          ))}
        </div>
      </div>
    </dialog>
  );
}

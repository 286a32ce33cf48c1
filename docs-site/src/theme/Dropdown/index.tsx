import {
  type KeyboardEvent as Pressed,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { flushSync } from 'react-dom';
import { Icon, type IconName } from '../Icon';

interface Props {
  readonly label: string;
  readonly icon?: IconName;
  readonly name: string;
  readonly current?: boolean;
  readonly end?: boolean;
  readonly children: ReactNode;
}

/**
 * A disclosure of links. Hovering opens it; a click, Enter or Space pins it. Escape, a click outside and a loss of
 * focus close it. The keys ↓ and ↑ open it and move between its entries.
 */
export function Dropdown({ label, icon, name, current, end, children }: Props): ReactElement {
  const [state, setState] = useState<'closed' | 'hovered' | 'pinned'>('closed');
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const open = state !== 'closed';

  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setState('closed');
    };
    const escaped = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      if (root.current?.contains(document.activeElement)) button.current?.focus();
      setState('closed');
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('keydown', escaped);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('keydown', escaped);
    };
  }, [open]);

  const moved = (event: Pressed) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    // Hidden entries cannot have the focus.
    if (!open) flushSync(() => setState('pinned'));
    const entries = [...(root.current?.querySelectorAll<HTMLElement>('ul a') ?? [])];
    const now = entries.indexOf(document.activeElement as HTMLElement);
    const next = now < 0 && step < 0 ? -1 : (now + step) % entries.length;
    entries.at(next)?.focus();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hovering is an addition to the button inside
    <div
      ref={root}
      className={`dropdown${end ? ' dropdown--end' : ''}`}
      data-dropdown={name}
      onPointerEnter={(event) => {
        if (event.pointerType === 'mouse' && !open) setState('hovered');
      }}
      onPointerLeave={(event) => {
        if (event.pointerType === 'mouse' && state === 'hovered') setState('closed');
      }}
      onKeyDown={moved}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setState('closed');
      }}
    >
      <button
        ref={button}
        type="button"
        className={`navbar__item${current ? ' navbar__item--current' : ''}`}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setState(state === 'pinned' ? 'closed' : 'pinned')}
      >
        {icon ? <Icon name={icon} /> : null}
        {label}
        <Icon name="down" className="dropdown__arrow" />
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a chosen link closes the list; Enter on a link is a click */}
      <ul id={id} className="dropdown__menu" hidden={!open} onClick={() => setState('closed')}>
        {children}
      </ul>
    </div>
  );
}

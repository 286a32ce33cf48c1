/** Property of `window` in which the head script stores the last click before hydration: button and time. */
export const earlyClick = '__click';

/** Clicks older than this are not repeated; milliseconds. */
const maxAgeMs = 8000;

/**
 * Repeats a click on a button that had no handler yet. `inFragment`: only buttons in fragments, which get their
 * handlers before React hydrates the rest of the page; otherwise only the other buttons. Ignores removed buttons.
 */
export function repeatEarlyClick(inFragment: boolean): void {
  const page = window as unknown as Record<string, readonly [HTMLElement, number] | 0 | undefined>;
  const [button, atMs] = page[earlyClick] || [];
  if (!button || atMs === undefined || (button.closest('.prose') !== null) !== inFragment) return;
  page[earlyClick] = 0;
  if (button.isConnected && performance.now() - atMs < maxAgeMs) button.click();
}

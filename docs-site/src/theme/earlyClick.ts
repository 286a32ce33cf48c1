/** Where the head's script leaves the last click that came before React: the button, and when. */
export const earlyClick = '__click';

const latestMs = 8000;

/**
 * Repeats a click that nothing could answer. Buttons in static HTML have their behaviours before React has the rest
 * of the page; a button that is gone and a click of long ago are left alone.
 */
export function repeatEarlyClick(inFragment: boolean): void {
  const page = window as unknown as Record<string, readonly [HTMLElement, number] | 0 | undefined>;
  const [button, atMs] = page[earlyClick] || [];
  if (!button || atMs === undefined || (button.closest('.prose') !== null) !== inFragment) return;
  page[earlyClick] = 0;
  if (button.isConnected && performance.now() - atMs < latestMs) button.click();
}

import { onFragment } from './fragments';

/** Safari has no idle callback. */
const whenIdle = (work: () => void): void => {
  if ('requestIdleCallback' in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 50);
};

/**
 * Lays out the parts of a guide that are far from the screen (prose.css), one after the other, when the page has
 * nothing else to do: soon nothing moves any more while the reader scrolls, or jumps to the end.
 */
export function startParts(): void {
  onFragment((root) => {
    const parts = [...root.querySelectorAll<HTMLElement>('.prose-part')];
    const next = () => {
      const part = parts.shift();
      if (!part?.isConnected) return;
      part.style.contentVisibility = 'visible';
      whenIdle(next);
    };
    whenIdle(next);
  });
}

import { onFragment } from './fragments';

/** Runs `work` when the browser is idle. Safari has no `requestIdleCallback`. */
const whenIdle = (work: () => void): void => {
  if ('requestIdleCallback' in window) requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 50);
};

/**
 * Lays out the parts of a guide that are far from the viewport (prose.css), one at a time while the page is idle.
 * After that, the page does not shift when the reader scrolls or jumps to the end.
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

import { useEffect, useState } from 'react';

/**
 * Top of a heading, in pixels from the top of the viewport. For a heading outside the viewport: the top of its part.
 * A part outside the viewport may have no layout (`content-visibility`). Reading a position inside the part would force a
 * layout.
 */
function topOf(id: string): number | undefined {
  const heading = document.getElementById(id);
  const part = heading?.closest('.api-operation, .prose-part')?.getBoundingClientRect();
  if (part && (part.bottom < 0 || part.top > window.innerHeight)) return part.top;
  return heading?.getBoundingClientRect().top;
}

/** Id of the active heading: the last one above a line below the navigation bar. `ids` must be in page order. */
export function useActiveHeading(ids: readonly string[]): string | undefined {
  const [active, setActive] = useState<string>();
  useEffect(() => {
    let frame = 0;
    const find = () => {
      frame = 0;
      const line = Math.max(100, window.innerHeight * 0.18);
      let found: string | undefined;
      for (const id of ids) {
        const top = topOf(id);
        if (top !== undefined && top <= line) found = id;
      }
      // At the end of the page, the last heading may not reach the line.
      const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
      setActive(atEnd && window.scrollY > 0 ? ids.at(-1) : found);
    };
    const schedule = () => {
      frame ||= requestAnimationFrame(find);
    };
    schedule();
    window.addEventListener('scroll', schedule, { passive: true });
    window.addEventListener('resize', schedule);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener('scroll', schedule);
      window.removeEventListener('resize', schedule);
    };
  }, [ids]);
  return active;
}

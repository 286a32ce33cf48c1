import { useEffect, useState } from 'react';

/**
 * Where a heading begins. A part far from the screen has no layout (`content-visibility`), and asking for the place of
 * what lies in it would make the browser lay it out: the part's own place says enough.
 */
function topOf(id: string): number | undefined {
  const heading = document.getElementById(id);
  const part = heading?.closest('.api-operation, .prose-part')?.getBoundingClientRect();
  if (part && (part.bottom < 0 || part.top > window.innerHeight)) return part.top;
  return heading?.getBoundingClientRect().top;
}

/** The id of the heading that is being read: the last one above a line below the navigation bar. `ids` in the order of the page. */
export function useActiveHeading(ids: readonly string[]): string | undefined {
  const [active, setActive] = useState<string>();
  useEffect(() => {
    let asked = 0;
    const find = () => {
      asked = 0;
      const line = Math.max(100, window.innerHeight * 0.18);
      let found: string | undefined;
      for (const id of ids) {
        const top = topOf(id);
        if (top !== undefined && top <= line) found = id;
      }
      // At the very end the last heading may never reach the line.
      const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
      setActive(atEnd && window.scrollY > 0 ? ids.at(-1) : found);
    };
    const ask = () => {
      asked ||= requestAnimationFrame(find);
    };
    ask();
    window.addEventListener('scroll', ask, { passive: true });
    window.addEventListener('resize', ask);
    return () => {
      cancelAnimationFrame(asked);
      window.removeEventListener('scroll', ask);
      window.removeEventListener('resize', ask);
    };
  }, [ids]);
  return active;
}

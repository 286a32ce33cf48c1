import { type ReactElement, useEffect, useState } from 'react';
import { ja } from '../../strings/ja';
import { Icon } from '../Icon';

const fromTop = 300;
/** Events that show that the reader scrolls. */
const byReader = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/** Appears when the reader scrolls up below `fromTop` pixels. Disappears on scrolling down or on a jump to a hash. */
export function BackToTopButton(): ReactElement {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let last = window.scrollY;
    let followsHash = false;
    const scrolled = () => {
      const now = window.scrollY;
      if (followsHash || now < fromTop) setShown(false);
      else if (now < last) setShown(true);
      else if (now > last) setShown(false);
      last = now;
    };
    const hash = () => {
      followsHash = true;
      setShown(false);
    };
    // The browser may scroll several times for one hash, because parts above the target get their height late (prose.css).
    const moved = () => {
      followsHash = false;
    };
    window.addEventListener('scroll', scrolled, { passive: true });
    window.addEventListener('hashchange', hash);
    for (const name of byReader) window.addEventListener(name, moved, { passive: true });
    return () => {
      for (const name of byReader) window.removeEventListener(name, moved);
      window.removeEventListener('scroll', scrolled);
      window.removeEventListener('hashchange', hash);
    };
  }, []);
  return (
    <button
      type="button"
      className={`back-to-top${shown ? ' back-to-top--shown' : ''}`}
      aria-label={ja.top}
      title={ja.top}
      tabIndex={shown ? 0 : -1}
      aria-hidden={!shown}
      onClick={() => {
        const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
        window.scrollTo({ top: 0, behavior: calm ? 'auto' : 'smooth' });
      }}
    >
      <Icon name="up" />
    </button>
  );
}

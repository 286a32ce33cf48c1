import { Link } from 'gatsby';
import { type ReactElement, useEffect, useState } from 'react';
import { ja } from '../../strings/ja';
import { Icon } from '../Icon';
import { storage } from '../storage';
import { bar, dismissedAttribute, dismissKey, idKey } from './bar';

/** Always in the HTML. If the reader has closed it, the stylesheet hides it before hydration (theme/headScript.ts). */
export function AnnouncementBar(): ReactElement | null {
  const [closed, setClosed] = useState(false);
  useEffect(() => {
    if (storage.get(idKey) !== bar.id) {
      storage.set(idKey, bar.id);
      storage.set(dismissKey, 'false');
    }
    setClosed(storage.get(dismissKey) === 'true');
  }, []);
  if (closed) return null;
  return (
    <section className="announcement-bar" aria-label={ja.bar.label}>
      <p className="announcement-bar__text">
        {bar.text} <Link to={bar.link.href}>{bar.link.label}</Link>
      </p>
      <button
        type="button"
        className="announcement-bar__close"
        aria-label={ja.bar.close}
        onClick={() => {
          // Also stores the id again: the storage may have been cleared while the page was open.
          storage.set(idKey, bar.id);
          storage.set(dismissKey, 'true');
          document.documentElement.setAttribute(dismissedAttribute, '');
          setClosed(true);
        }}
      >
        <Icon name="close" />
      </button>
    </section>
  );
}

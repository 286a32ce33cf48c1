import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';

/** First element in the tab order. Moves the focus to the main content, not only the scroll position. */
export function SkipLink(): ReactElement {
  return (
    // biome-ignore lint/a11y/useValidAnchor: a working link without JavaScript
    <a
      className="skip"
      href="#main"
      onClick={(event) => {
        const main = document.querySelector('main');
        if (!main) return;
        event.preventDefault();
        main.focus();
        main.scrollIntoView();
      }}
    >
      {ja.skip}
    </a>
  );
}

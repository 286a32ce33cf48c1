import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';

/** The first thing that the Tab key reaches; it moves the focus, not only the view. */
export function SkipLink(): ReactElement {
  return (
    // biome-ignore lint/a11y/useValidAnchor: without JavaScript it is the link that it looks like
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

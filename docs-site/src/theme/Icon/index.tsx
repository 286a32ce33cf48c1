import type { ReactElement } from 'react';

/** Icon on a 24-pixel grid with 1.75-pixel lines, in the text colour. */
const paths = {
  info: 'M12 21a9 9 0 100-18 9 9 0 000 18zM12 11v5.5M12 7.6v.1',
  tip: 'M9 18h6M10 21h4M12 3a6 6 0 00-3.6 10.8c.7.6 1.1 1.3 1.1 2.2h5c0-.9.4-1.6 1.1-2.2A6 6 0 0012 3z',
  warning: 'M12 4L2.8 19.5h18.4zM12 10v4.5M12 17v.1',
  danger: 'M8.5 3h7L21 8.5v7L15.5 21h-7L3 15.5v-7zM12 8v5M12 16v.1',
  sun: 'M12 16a4 4 0 100-8 4 4 0 000 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 119.5 4a6.6 6.6 0 0010.5 10.5z',
  menu: 'M4 6.5h16M4 12h16M4 17.5h16',
  close: 'M6 6l12 12M18 6L6 18',
  chevron: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  up: 'M12 19V5M5.5 11.5L12 5l6.5 6.5',
  search: 'M10.5 17a6.5 6.5 0 100-13 6.5 6.5 0 000 13zM15.5 15.5L20 20',
  home: 'M4 11l8-7 8 7v9h-5.5v-6h-5v6H4z',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  language:
    'M3.5 12h17M12 3c5 5.500 5 12.500 0 18M12 3c-5 5.500-5 12.500 0 18M12 21a9 9 0 100-18 9 9 0 000 18z',
  sidebar: 'M4 5h16v14H4zM9.500 5v14M16 9.500L13.500 12l2.500 2.500',
  back: 'M15 6l-6 6 6 6',
  bell: 'M6 16V11a6 6 0 0112 0v5l1.500 2h-15zM10 21h4',
  book: 'M12 6c-2-1.500-5-2-8-2v14c3 0 6 .5 8 2 2-1.500 5-2 8-2V4c-3 0-6 .5-8 2zM12 6v14',
  code: 'M8.500 7L3.500 12l5 5M15.500 7l5 5-5 5',
  webhook: 'M4 12h11M11 7.500L15.500 12 11 16.500M20 5v14',
  download: 'M12 4v11M7 10.500L12 15.500l5-5M4.500 20h15',
} as const;

export type IconName = keyof typeof paths;

export function Icon({
  name,
  className,
}: {
  readonly name: IconName;
  readonly className?: string;
}): ReactElement {
  return (
    <svg
      className={`icon icon--${name}${className ? ` ${className}` : ''}`}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}

import type { ReactElement } from 'react';

/** Logo: a cloud whose lower edge is a headset's band, with a boom microphone. Drawn for this site. */
export function Logo(): ReactElement {
  return (
    <svg className="logo" viewBox="0 0 48 48" aria-hidden="true" focusable="false">
      <path
        className="logo__cloud"
        d="M14.500 29.500a9 9 0 01-1.300-17.900A12 12 0 0136 14.200a7.800 7.800 0 01-1.500 15.300"
      />
      <path className="logo__band" d="M14.500 27.500v-2.800a9.600 9.600 0 0119.200 0v2.800" />
      <rect className="logo__ear" x="10.800" y="26" width="7" height="12" rx="3.500" />
      <rect className="logo__ear" x="30.400" y="26" width="7" height="12" rx="3.500" />
      <path className="logo__boom" d="M33.900 38c0 3.200-2.600 5-6.400 5h-1.800" />
      <circle className="logo__mic" cx="23.800" cy="43" r="2.600" />
    </svg>
  );
}

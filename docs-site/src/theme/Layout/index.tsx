import type { ReactElement, ReactNode } from 'react';
import { ja } from '../../strings/ja';
import { Footer } from '../Footer';
import { Navbar } from '../Navbar';

/** What stands around every page; it stays mounted while pages change. */
export function Layout({ children }: { readonly children?: ReactNode }): ReactElement {
  return (
    <>
      <a className="skip" href="#main">
        {ja.skip}
      </a>
      <Navbar />
      <div id="main" className="main-wrapper" tabIndex={-1}>
        {children}
      </div>
      <Footer />
    </>
  );
}

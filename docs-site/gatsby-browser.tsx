import type { GatsbyBrowser } from 'gatsby';
import './src/css/index.css';
import { startBehaviours } from './src/behaviour';
import { watchHashes } from './src/behaviour/hash';
import { isNavigating, watchLoader } from './src/loader';
import { repeatEarlyClick } from './src/theme/earlyClick';
import { Layout } from './src/theme/Layout';
import { setLoading } from './src/theme/Loading';
import { Root } from './src/theme/Root';

/** Must be the same as in gatsby-ssr.tsx. */
export const wrapRootElement: GatsbyBrowser['wrapRootElement'] = ({ element }) => <Root>{element}</Root>;

export const wrapPageElement: GatsbyBrowser['wrapPageElement'] = ({ element, props }) => (
  <Layout location={props.location} pageContext={props.pageContext}>
    {element}
  </Layout>
);

export const onClientEntry: GatsbyBrowser['onClientEntry'] = () => {
  startBehaviours();
  repeatEarlyClick(true);
  watchHashes();
  watchLoader();
  if (process.env['NODE_ENV'] === 'development')
    import('./src/authors').then(({ followContent }) => followContent());
};

export const onInitialClientRender: GatsbyBrowser['onInitialClientRender'] = () => {
  // Gatsby's announcer speaks English. Layout has a Japanese one.
  document.getElementById('gatsby-announcer')?.setAttribute('aria-live', 'off');
};

// Gatsby also calls this for a navigation that was cancelled.
export const onRouteUpdateDelayed: GatsbyBrowser['onRouteUpdateDelayed'] = () => setLoading(isNavigating());

export const onRouteUpdate: GatsbyBrowser['onRouteUpdate'] = () => setLoading(false);

import type { GatsbyBrowser } from 'gatsby';
import './src/css/index.css';
import { startBehaviours } from './src/behaviour';
import { watchLoader } from './src/loader';
import { Layout } from './src/theme/Layout';
import { setLoading } from './src/theme/Loading';

export const wrapPageElement: GatsbyBrowser['wrapPageElement'] = ({ element, props }) => (
  <Layout location={props.location} pageContext={props.pageContext}>
    {element}
  </Layout>
);

export const onClientEntry: GatsbyBrowser['onClientEntry'] = () => {
  startBehaviours();
  watchLoader();
  if (process.env['NODE_ENV'] === 'development')
    import('./src/authors').then(({ followContent }) => followContent());
};

export const onInitialClientRender: GatsbyBrowser['onInitialClientRender'] = () => {
  // It speaks English; Layout has its own.
  document.getElementById('gatsby-announcer')?.setAttribute('aria-live', 'off');
};

export const onRouteUpdateDelayed: GatsbyBrowser['onRouteUpdateDelayed'] = () => setLoading(true);

export const onRouteUpdate: GatsbyBrowser['onRouteUpdate'] = () => setLoading(false);

import type { GatsbyBrowser } from 'gatsby';
import './src/css/index.css';
import { startBehaviours } from './src/behaviour';
import { Layout } from './src/theme/Layout';

export const wrapPageElement: GatsbyBrowser['wrapPageElement'] = ({ element, props }) => <Layout {...props}>{element}</Layout>;

export const onClientEntry: GatsbyBrowser['onClientEntry'] = () => startBehaviours();

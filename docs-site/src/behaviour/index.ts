import { startCode } from './code';
import { startDetails } from './details';
import { startLinks } from './links';
import { startTabs } from './tabs';
import { startValues } from './values';
import { startSignature } from './signature';

/** Starts everything that moves inside fragments; called once, before the first render. */
export function startBehaviours(): void {
  startCode();
  startTabs();
  startValues();
  startDetails();
  startLinks();
  startSignature();
}

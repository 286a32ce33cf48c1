import { startCode } from './code';
import { startSignature } from './signature';

/** Starts everything that moves inside fragments; called once, before the first render. */
export function startBehaviours(): void {
  startCode();
  startSignature();
}

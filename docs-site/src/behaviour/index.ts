import { startCode } from './code';

/** Starts everything that moves inside fragments; called once, before the first render. */
export function startBehaviours(): void {
  startCode();
}

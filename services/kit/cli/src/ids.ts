import { InvalidArgumentError } from 'commander';

/** Parses an IMEI for commander. */
export function imei(text: string): string {
  if (!/^\d{15}$/.test(text)) throw new InvalidArgumentError('It is not an IMEI of 15 digits.');
  return text;
}

/** Parses a transaction id for commander. */
export function transactionId(text: string): number {
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (id < 1 || !Number.isSafeInteger(id)) throw new InvalidArgumentError('It is not a transaction id.');
  return id;
}

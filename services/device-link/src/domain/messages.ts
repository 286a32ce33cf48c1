import { isOlder } from '@headset-cloud/rules/version.ts';
import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { limits } from './limits.ts';

/** Violation of the protocol by a message; the reason is sent to the headset. */
export interface ProtocolProblem {
  readonly kind: 'wrong-version' | 'invalid';
  readonly reason: string;
}

/** A transaction id as the platform uses it: positive and exact as a number (rule C3). */
export function transactionId(id: bigint): number | undefined {
  return id > 0n && id <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(id) : undefined;
}

const maxVersionLength = 64;

/**
 * Returns the firmware version for the start grants of a session, after an inventory report. The version never becomes
 * older, because a report from before the hello may arrive again after the hello.
 */
export function newerFirmware(known: string, reported: string): string {
  if (reported === '' || isLongerThan(reported, maxVersionLength)) return known;
  return known === '' || isOlder(known, reported) ? reported : known;
}

/** Returns what is wrong with a hello, if anything. */
export function checkHello(hello: {
  readonly protocolVersion: number;
  readonly clientVersion: string;
  readonly firmwareVersion: string;
  readonly held: readonly { readonly transactionId: bigint }[];
  readonly activationEpoch: bigint;
  readonly lastReportId?: bigint | undefined;
}): ProtocolProblem | undefined {
  if (hello.protocolVersion !== limits.protocolVersion) {
    return {
      kind: 'wrong-version',
      reason: `protocol_version ${hello.protocolVersion} is not supported; this server speaks ${limits.protocolVersion}`,
    };
  }
  if (
    isLongerThan(hello.clientVersion, maxVersionLength) ||
    isLongerThan(hello.firmwareVersion, maxVersionLength)
  ) {
    return { kind: 'invalid', reason: `hello: a version is longer than ${maxVersionLength} characters` };
  }
  if (hello.held.some((h) => transactionId(h.transactionId) === undefined)) {
    return { kind: 'invalid', reason: 'hello: held has a transaction_id out of range' };
  }
  if (!isExact(hello.activationEpoch)) return invalid('hello: activation_epoch out of range');
  if (!isExact(hello.lastReportId ?? 0n)) return invalid('hello: last_report_id out of range');
  return undefined;
}

/**
 * Returns what is wrong with a report, if anything. Checks only the form: consumers check the content, so that a
 * report with a value that is unknown here is still published.
 */
export function checkReport(report: {
  readonly reportId: bigint;
  /** Name of the body's kind; undefined without a body, or for an unknown kind. */
  readonly kind: string | undefined;
  /** Absent for kinds without a transaction. */
  readonly transactionId: bigint | undefined;
  readonly activationEpoch: bigint;
}): ProtocolProblem | undefined {
  if (report.reportId <= 0n || report.reportId > BigInt(Number.MAX_SAFE_INTEGER)) {
    return { kind: 'invalid', reason: 'report: report_id is not from 1 to 2^53-1' };
  }
  if (report.kind === undefined)
    return { kind: 'invalid', reason: 'report: the body is missing or unknown to this server' };
  if (report.transactionId !== undefined && transactionId(report.transactionId) === undefined) {
    return { kind: 'invalid', reason: 'report: transaction_id out of range' };
  }
  if (!isExact(report.activationEpoch)) return invalid('report: activation_epoch out of range');
  return undefined;
}

/** Returns what is wrong with a URL request, if anything. The service that issues the URL checks the content. */
export function checkUrlRequest(request: {
  readonly about:
    | { readonly case: 'downloadTicket'; readonly value: Uint8Array }
    | { readonly case: 'upload'; readonly value: { readonly activationEpoch: bigint } }
    | { readonly case: undefined; readonly value?: undefined };
}): ProtocolProblem | undefined {
  const { about } = request;
  switch (about.case) {
    case 'downloadTicket':
      return about.value.length <= limits.maxTicketBytes
        ? undefined
        : invalid(`url_request: download_ticket is longer than ${limits.maxTicketBytes} bytes`);
    case 'upload':
      return isExact(about.value.activationEpoch)
        ? undefined
        : invalid('url_request: activation_epoch out of range');
    default:
      return invalid('url_request: the request is missing or unknown to this server');
  }
}

/** True for an id that a number represents exactly. */
function isExact(value: bigint): boolean {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER);
}

function invalid(reason: string): ProtocolProblem {
  return { kind: 'invalid', reason };
}

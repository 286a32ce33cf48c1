import { toBinary } from '@bufbuild/protobuf';
import {
  type ConnectRequest,
  type Report,
  ReportSchema,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link } from './link.ts';

/** A violation of a rule during the scenario of any rule. */
export interface Violation {
  readonly rule: string;
  readonly why: string;
}

/** Reports that a headset may drop if its storage is full, and progress, which newer progress replaces. */
const droppable = new Set(['progress', 'stateChange', 'networkLevel', 'signal', 'volume']);
const reportWindow = 256;
/** Maximum age difference of two tokens with the same second; more than a second, for slow machines. */
const sameSecondMs = 2000;

/** Checks every message of one headset against the rules that apply at all times. */
export class Monitor {
  readonly violations: Violation[] = [];
  /** Unacknowledged reports, with their first content. */
  readonly #kept = new Map<bigint, { bytes: Buffer; kind: string }>();
  readonly #everSeen = new Map<bigint, Buffer>();
  readonly #streams = new Map<Link, { lastReportId: bigint; pending: Set<bigint> }>();

  opened(link: Link, earlier: readonly Link[]): void {
    for (const defect of link.token.defects) this.#broken('session/token', defect);
    const same = earlier.find(({ token }) => token.text === link.token.text);
    // Deterministic signatures (RFC 6979) make two tokens of the same second equal.
    if (same && link.openedMs - same.openedMs > sameSecondMs) {
      this.#broken('session/token', 'a token was used a second time');
    }
  }

  received(link: Link, { body }: ConnectRequest): void {
    if ((link.messages.length === 1) !== (body.case === 'hello')) {
      const nth = link.messages.length;
      this.#broken(
        'session/hello',
        `message ${nth} of a stream is ${body.case ?? 'empty'}; hello is the first, once`,
      );
    }
    if (body.case === 'report') this.#onReport(link, body.value);
    if (body.case === 'urlRequest') this.#onUrlRequest(link, body.value);
  }

  acknowledged(reportId: bigint): void {
    for (const id of this.#kept.keys()) if (id <= reportId) this.#kept.delete(id);
  }

  /** Ids of received reports that are not acknowledged. */
  get unacknowledged(): readonly bigint[] {
    return [...this.#kept.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  #onReport(link: Link, report: Report): void {
    const id = report.reportId;
    let stream = this.#streams.get(link);
    if (!stream) {
      const pending = [...this.#kept].filter(([, { kind }]) => !droppable.has(kind)).map(([kept]) => kept);
      stream = { lastReportId: 0n, pending: new Set(pending) };
      this.#streams.set(link, stream);
    }
    if (id <= stream.lastReportId) {
      this.#broken('reports/rising', `report ${id} came after ${stream.lastReportId} on one stream`);
    }
    stream.lastReportId = id;
    for (const pending of stream.pending) {
      if (pending < id && this.#kept.has(pending)) {
        this.#broken(
          'reports/again',
          `report ${pending} is not acknowledged, yet ${id} came first in the new session`,
        );
        stream.pending.clear();
      }
    }
    stream.pending.delete(id);
    const bytes = Buffer.from(toBinary(ReportSchema, report));
    const before = this.#everSeen.get(id);
    if (before && !before.equals(bytes)) {
      this.#broken('reports/same-id', `report ${id} was repeated with different content`);
    }
    this.#everSeen.set(id, bytes);
    this.#kept.set(id, { bytes, kind: report.body.case ?? '' });
    const inFlight = link.reports.filter((r) => r.reportId > link.ackedReportId).length;
    if (inFlight > reportWindow)
      this.#broken('reports/window', `${inFlight} reports are sent and not acknowledged`);
  }

  #onUrlRequest(link: Link, request: UrlRequest): void {
    const same = link.urlRequests.slice(0, -1).find(({ requestId }) => requestId === request.requestId);
    // A client may repeat a request after 30 s without an answer.
    if (same && (same.about.case !== request.about.case || link.answeredUrls.has(request.requestId))) {
      this.#broken('addresses/ids', `request_id ${request.requestId} was used twice in a session`);
    }
  }

  #broken(rule: string, why: string): void {
    this.violations.push({ rule, why });
  }
}

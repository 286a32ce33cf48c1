/** A call of the API for a device and a transaction of the caller, with a valid body. */
export interface Route {
  readonly method: string;
  /** Below the application's path. */
  readonly path: string;
  readonly body?: object;
  readonly scope: string;
  /** Statuses on a platform without a catalogue: 400 for versions that it does not know. */
  readonly answers: readonly number[];
  /** Reading calls change nothing; the connectivity GETs create transactions. */
  readonly reads: boolean;
}

/** Every call of an application: reading calls first, the deactivation last. */
export function everyRoute(deviceId: string, transactionId: number, clientId: string): Route[] {
  const device = `/devices/${deviceId}`;
  const connectivity = `${device}/connectivity`;
  const pairing = `${connectivity}/bluetooth`;
  const macAddress = '02:00:00:00:00:0A';
  const software = { package: 'com.example.unknown', version: '1.0' };
  return [
    ...reading('cws:application:read', [
      '',
      '/transactions',
      `/transactions/${transactionId}`,
      '/apps',
      '/firmware',
      '/billing?month=1&year=2026',
    ]),
    ...reading('cws:device:read', [device, `${device}/status`, '/devices/status']),
    ...reading('cws:communication-service', ['/sora/versions']),
    ...changing('cws:application:write', [
      ['PATCH', '', { soraEvent: 'https://a' }, 200],
      ['POST', '/refresh_authkey'],
      ['POST', '/apps', { ...software, fileSize: 1 }],
      ['DELETE', `${device}/transactions`, undefined, 200],
    ]),
    // 503 if no endpoint is registered or all are full.
    ...changing('cws:communication-service', [['POST', '/channels', {}, 201, 503]]),
    ...changing('cws:device:read', [
      ['GET', connectivity],
      ['GET', `${pairing}/state`],
    ]),
    ...changing('cws:device:write', [
      ['POST', device, { clientId }],
      ['PUT', `${device}/commands`, { package: 'a', launchType: 'activity' }],
      ['PUT', `${device}/settings/apn`, [{ name: 'a', apn: 'b', mcc: '440', mnc: '10' }]],
      ['PUT', `${device}/settings/wifi`, [{ ssid: 'a' }]],
      ['PUT', `${device}/settings/lang`, ['ja']],
      ['PUT', `${device}/apps`, software, 400],
      ['PUT', `${device}/firmware`, { version: '0.0.1-unknown' }, 400],
      ['PUT', `${device}/apps/launcher/keys`, { 'key-config': [] }],
      ['DELETE', `${device}/package/com.example.app`],
      ['PUT', `${pairing}/state`, { state: 'enabled' }],
      ['POST', pairing, { macAddress }],
      ['PUT', pairing, { macAddress, state: 'connect' }],
      ['DELETE', pairing, { macAddress }],
      ['DELETE', `${pairing}/reset`],
      ['PUT', `${device}/reset`],
      ['DELETE', device],
    ]),
  ];
}

/** The calls of cws_extension.yaml for an application, as everyRoute has the specified calls. */
export function extensionRoutes(): Route[] {
  return [
    ...reading('cws:application:read', ['/event_types', '/events', '/deliveries', '/extension_settings']),
    // For ids that do not exist.
    ...reading('cws:application:read', ['/deliveries/none', '/recoveries/none']).map((route) => ({
      ...route,
      answers: [404],
    })),
    ...reading('cws:device:read', ['/device_statuses']),
    ...changing('cws:application:write', [
      ['PATCH', '/extension_settings', { noticeEvent: 'https://a' }, 200],
      ['POST', '/deliveries/none/redeliver', {}, 404],
      ['POST', '/apps/withdraw', { package: 'com.example.none', version: '1' }, 404],
      ['POST', '/deliveries/recover', { since: '2026-01-01T00:00:00Z', dryRun: true }, 200],
      ['POST', '/test_callbacks', { type: 'notify-boot', destination: 'deviceEvent' }, 200],
    ]),
  ];
}

function reading(scope: string, paths: readonly string[]): Route[] {
  return paths.map((path) => ({ method: 'GET', path, scope, answers: [200], reads: true }));
}

type Change = readonly [method: string, path: string, body?: object | undefined, ...answers: number[]];

/** 201 unless other answers are named. */
function changing(scope: string, calls: readonly Change[]): Route[] {
  return calls.map(([method, path, body, ...answers]) => ({
    ...{ method, path, scope, reads: false },
    ...(body !== undefined && { body }),
    answers: answers.length > 0 ? answers : [201],
  }));
}

/** A call of the API for a device and a transaction of the caller's own, with a body that is right. */
export interface Route {
  readonly method: string;
  /** Below the application's path. */
  readonly path: string;
  readonly body?: object;
  readonly scope: string;
}

/** Every call that is served so far, reading ones first, the one that deactivates last. */
export function everyRoute(deviceId: string, transactionId: number, clientId: string): Route[] {
  const device = `/devices/${deviceId}`;
  const read = 'cws:application:read';
  const write = 'cws:application:write';
  return [
    { method: 'GET', path: '', scope: read },
    { method: 'GET', path: '/transactions', scope: read },
    { method: 'GET', path: `/transactions/${transactionId}`, scope: read },
    { method: 'GET', path: device, scope: 'cws:device:read' },
    { method: 'GET', path: `${device}/status`, scope: 'cws:device:read' },
    { method: 'GET', path: '/devices/status', scope: 'cws:device:read' },
    { method: 'PATCH', path: '', body: { soraEvent: 'https://a' }, scope: write },
    { method: 'POST', path: '/refresh_authkey', scope: write },
    { method: 'DELETE', path: `${device}/transactions`, scope: write },
    { method: 'POST', path: device, body: { clientId }, scope: 'cws:device:write' },
    {
      method: 'PUT',
      path: `${device}/commands`,
      body: { package: 'a', launchType: 'activity' },
      scope: 'cws:device:write',
    },
    { method: 'DELETE', path: device, scope: 'cws:device:write' },
  ];
}

import { type Line, lines } from './line.ts';

/** Promises of the API's specification, section by section, in its order. */
export const apiLines: readonly Line[] = [
  ...lines(
    'api/1',
    'What the product does',
    `
    asynchronous: a changing call returns a transactionId, the result arrives later as a callback
    imei: devices are identified by their IMEI number
    scope-per-operation: access tokens of an identity provider, with a scope per operation
    `,
  ),
  ...lines(
    'api/3',
    'Entities and their fields',
    `
    settings-key: authenticationKey is read only, absent if never issued, only in the read form
    settings-fields: deviceEvent, remoteSupportEvent, soraEvent, soraFileSendEvent, soraRecGetPresignedUrl, soraRecGetMultiPresignedUrl, fileUploadEvent, fileUploadGetUrl
    authkey-response: authentication key response: authenticationKey
    activation-clientId: activation request with clientId
    activation-mimi: activation request with mimiClientId and mimiClientSecret
    activation-status: deviceId, activated, clientId (null when not activated), status (activated or deactivated)
    activation-status-null: the contract lets status be null
    status-power: power is started or finished
    status-wearing: wearing is device_wear or device_takeoff
    status-network: network is connectivity_online or connectivity_offline
    status-charging: charging is start_charging or stop_charging
    status-battery: batteryPercentage is an integer
    status-location: latitude, longitude
    status-firmware: firmware: version
    status-apps: apps: package and version
    status-lang: lang: a list
    status-dates: an update date for each of power, wearing, network, charging, battery and location
    hardware-model: model: name, identifier, description, shape (box or neck-mounted); null when not registered
    hardware-camera: camera: direction, mountedPosition, resolution with maxWidth and maxHeight; null when not registered
    hardware-mac: macAddressWifi, macAddressBluetooth
    hardware-destination: specificDestination is optional
    apn-required: APN entry: name, apn, mcc, mnc are required
    apn-optional: APN entry: proxy, port, user, server, password, mmsc, mmsproxy, mmsport, type, protocol, carrierEnabled, roamingProtocol, mvnoType, mvnoMatchData are optional
    apn-integers: APN entry: authType, bearer, bearerBitmask are integers
    wifi: Wi-Fi entry: ssid (required), password, security
    languages: language list: array of two-letter language codes
    app-install: app install request: package, version
    firmware-update: firmware update request: version
    upload-request: software upload request: package, version, fileSize
    upload-result: software upload result: appFileExists, chunkPartSize, uploadId (null)
    upload-urls: urlList entries: uploadUrl, startTimestamp, endTimestamp, expireIn (seconds)
    software-list: available software: appVersions (package, version), totalCount, offset, limit
    firmware-list: available firmware: firmwareVersions, each with package and version
    transaction: transactionId (integer), deviceId, transactionStatus, operationId, createdAt, updatedAt
    transaction-list: transactions plus parameters (deviceId, completionStatus, order, sortBy, perPage, page, isNext)
    cancel-result: canceledTransactions, a list of ids
    command: command request: package, classpath, action, launchType (required), extras
    command-launchType: launchType is activity, service, foregroundservice or broadcast
    launcher-entry: launcher key entry: key-name, key-event, key-action
    launcher-names: key-name is left, center or right
    launcher-events: key-event is first-pressed, single-released, double-pressed, double-released, long-pressed or long-released
    launcher-action: key-action: action-type (launch-app or none) and action-param
    launcher-param: action-param: package-name, class-name, action-name, flags and extras (key-name, key-type String or int, key-value)
    channel-request: WebRTC request: soraVersion
    channel-response: endpointUrl and channelId
    channel-id: channelId: 10 random characters, an underscore, the creation time in milliseconds
    sora-versions: soraVersion and isDefault
    connectivity-state: state change body: state (enabled or disabled)
    pairing-body: pairing add or delete body: macAddress
    pairing-update: pairing update body: macAddress plus state (connect or disconnect)
    plan: videoMeeting (lite, basic 100, basic 200 or null) and speechRecognition (ja or null)
    billing-counts: numberOfDevices, activateDevices (current month only)
    billing-devices: devices: deviceId, plans, amountVideoMeeting (hours), amountSpeechRecognition (hours)
    billing-others: others: amounts
    error: error object: message
    `,
  ),
  ...lines(
    'api/4',
    'States and transitions',
    `
    created-published: a created transaction becomes published when the device is notified
    accepted: published becomes accepted once the device receives and starts the work
    processed: a transaction becomes processed when the work is done
    command-processed: a command reaches processed when the on-device app was called or answered
    canceled: canceled is the state of a cancellation
    canceled-before-2024: cancellations from before about May 2024 show as processed
    cancel-created: cancellation is allowed for created
    cancel-waiting: cancellation is allowed for published only while the device cannot be reached
    cancel-not-reachable: cancellation is not allowed for published while the device is reachable
    cancel-not-accepted: cancellation is not allowed for accepted
    cancel-not-processed: cancellation is not allowed for processed
    cancel-together: all cancellable transactions of the device are cancelled together
    resend-online: unprocessed transactions are sent again when the device comes online
    resend-limit: not sent again once the retry count has reached its limit: canceled with a notification
    resend-latest: only the latest for its operation is sent again; others are canceled with a notification
    latest-updates: for software and firmware updates, latest is judged per package and version
    deactivation-cancels: deactivating a device cancels its earlier unprocessed transactions
    reset-cancels: resetting a device cancels its earlier unprocessed transactions
    completion-filter: completion filter: uncompleted, completed, canceled
    activation: a device is activated or deactivated
    activated-by-other: a device activated by another application gives 403
    new-key: a new authentication key invalidates any earlier key
    bluetooth-switch: Bluetooth goes enabled or disabled
    pairing-switch: pairing devices go connect or disconnect
    `,
  ),
  ...lines(
    'api/5',
    'Validation rules',
    `
    perPage: perPage is 1 to 100
    page: page is at least 1
    perPage-with-page: one of perPage and page without the other is an error
    sortBy: sortBy is transactionId, deviceId, transactionStatus or operationId (default transactionId)
    order: order is asc or desc (default asc)
    billing-month: billing: month is 1 to 12 and required
    billing-year: billing: year is at least 2022 and required
    connectivity-type: only bluetooth is supported; wifi and mobile give 400
    connectivity-target: list target is all, connected or available (default available)
    settings-url: settings URLs match http or https, at most 255 characters
    language-item: each language has at most 8 characters, ASCII symbols and alphanumerics
    language-form: language codes are checked only for format
    language-first: the first language is applied
    wifi-ssid: ssid at most 32 characters
    wifi-security: security at most 100 characters
    apn-required-length: name, apn, mcc and mnc have 1 to 100 characters
    apn-text-length: other text fields of an APN have at most 100 characters
    upload-prefix: the package must not start with the reserved vendor prefix
    upload-other-developer: the package must not be used by another developer
    upload-content-type: the upload must use the content type for Android packages
    upload-no-multipart: multipart upload is not supported
    upload-size: fileSize at least 1
    firmware-downgrade: a firmware downgrade gives 400
    launcher-format: launcher keys are checked only for format and required keys
    command-package: package has 1 to 128 characters
    command-classpath: classpath has 1 to 256 characters
    command-action: action has 1 to 128 characters
    extras-limit: extras have at most 4096 bytes
    command-no-target: none of action, package and classpath: an error notification results
    extras-types: extras: string, boolean, integer, long, double, array, object
    extras-top-numbers: top-level numbers are integer if they fit, else long, else double
    extras-nested-numbers: nested numbers are double
    `,
  ),
  ...lines(
    'api/6',
    'Roles and permissions',
    `
    bearer: every call carries an access token in the Authorization header
    applications-read: settings, lists, transactions, billing, available software and firmware
    applications-write: settings update, key issue, software upload URL, cancellation
    devices-read: status, hardware properties
    devices-write: activate, deactivate, settings, update, reset, commands, uninstall, launcher keys
    communication-service: channels, Sora versions
    deactivated: deactivated devices cannot be operated (403)
    client-connectivity: connectivity needs client 2.3.1
    firmware-connectivity: connectivity needs firmware 9.001.0 or newer
    client-launcher: another feature (launcher keys) needs client 2.1.1
    client-uninstall: uninstall needs client 3.4.0
    `,
  ),
  ...lines(
    'api/7',
    'Calls',
    `
    paths: all paths start with /v1; applicationId, deviceId, transactionId, package and type are path parameters
    changing: changing calls answer 201 with a Location header (a transaction address) and transactionId
    get-settings: GET /v1/applications/{applicationId}
    patch-settings: PATCH /v1/applications/{applicationId}
    refresh-authkey: POST …/refresh_authkey: no body, 201 with authenticationKey
    get-activation: GET …/devices/{deviceId}
    activate: POST …/devices/{deviceId}
    deactivate: DELETE …/devices/{deviceId}
    status: GET …/devices/{deviceId}/status
    status-list: GET …/devices/status
    hardware: GET /v1/devices/{deviceId}/hardware-properties
    apn: PUT …/settings/apn
    wifi: PUT …/settings/wifi
    lang: PUT …/settings/lang
    update-app: PUT …/devices/{deviceId}/apps
    update-firmware: PUT …/devices/{deviceId}/firmware
    list-apps: GET …/apps: package, mode=latest, offset, limit (default 100)
    upload-app: POST …/apps
    list-firmware: GET …/firmware
    list-transactions: GET …/transactions: deviceId, completionStatus, order, sortBy, perPage, page
    get-transaction: GET …/transactions/{transactionId}
    cancel: DELETE …/devices/{deviceId}/transactions
    channels: POST …/channels
    sora-versions: GET …/sora/versions: in descending order
    reset: PUT …/reset wipes the device to factory state
    launcher-keys: PUT …/apps/launcher/keys
    commands: PUT …/commands
    uninstall: DELETE …/package/{package}
    billing: GET …/billing: month, year
    connectivity-list: GET …/connectivity: target
    get-state: GET …/connectivity/{type}/state
    put-state: PUT …/connectivity/{type}/state
    connectivity-reset: DELETE …/connectivity/{type}/reset
    pairing-add: POST …/connectivity/bluetooth
    pairing-change: PUT …/connectivity/bluetooth
    pairing-delete: DELETE …/connectivity/bluetooth
    status-405: a device status GET on wrong methods gives 405
    `,
  ),
  ...lines(
    'api/8',
    'Error catalogue',
    `
    400-body: bad input: the body reads 'Invalid request body'
    400-connectivity-type: unsupported connectivity type
    400-downgrade: firmware downgrade
    401: authentication failure
    403-url: wrong URL
    403-application: application not registered
    403-not-activated: device not activated
    403-other: device activated by another application
    404-destination: notification destinations not set
    404-parameter: wrong parameter
    405: non-GET method on the status endpoints
    500-database: internal error, for example of the database
    500-developer: developer not registered
    503-channels: channels call when every endpoint has reached its connection limit
    not-contracted: 'not contracted or activation limit exceeded.'
    client-id-in-use: 'ClientId is already in use.'
    retry-limit: 'The transaction was canceled because the retry limit was exceeded.'
    shape: error body shape: message
    `,
  ),
  ...lines(
    'api/9',
    'Business constants and limits',
    `
    software-page: software list default page size 100
    transactions-page: transaction perPage maximum 100
    usage-hours: usage hours are summed; any part under an hour is rounded up
    chunk-part-size: chunk part size 10485760 bytes
    url-lifetime: URL lifetime 3600 seconds
    progress: progress notifications for software and firmware every 10 seconds
    retry-limit: the retry count has a limit
    `,
  ),
];

import { type Statement, statements } from './statement.ts';

/** The statements of the specification of the API, in its own order. */
export const apiStatements: readonly Statement[] = [
  ...statements(
    'api/0',
    3,
    `
    1 The product is a cloud API through which customers who build applications for a wearable headset device activate devices, push settings, software and firmware, run commands, manage transactions, obtain video-call endpoints and read usage and billing. => none: a summary of API 3 to 9
    2 Devices are identified by their IMEI number. => api/1/imei
    3 This document covers the API the customer calls; callbacks to customer servers and the documentation site are in the second document. => none: names the other document
    `,
  ),
  ...statements(
    'api/1',
    4,
    `
    1 The users are integrators whose applications run on the devices and who operate their own web servers. => none: who the users are
    2 Operations are asynchronous: a changing call returns a transactionId, and the result arrives later as a callback to the integrator's server. => api/1/asynchronous
    3 Areas: Config, Device, Network, Connectivity, Update (firmware and software over the air), Operation, Transaction, CommunicationService (video-call endpoints) and Billing. => none: a summary of the calls of API 7
    4 Authentication uses an access token from an identity provider, with a scope per operation. => api/1/scope-per-operation
    `,
  ),
  ...statements(
    'api/2',
    2,
    `
    1 The API has no screens. => none: there is nothing to show
    2 The documentation site routes are listed in the second document. => none: refers to the other document
    `,
  ),
  ...statements(
    'api/3',
    83,
    `
    1 Application settings (read and update). => api/7/get-settings, api/7/patch-settings
    2 All fields except authenticationKey are notification or access URLs: => api/5/settings-url
    3 authenticationKey: read only, issued separately, absent if never issued. => api/3/settings-key
    4 It appears only in the read form. => api/3/settings-key
    5 deviceEvent => api/3/settings-fields
    6 remoteSupportEvent (unused) => api/3/settings-fields, cb/7/remote-support
    7 soraEvent => api/3/settings-fields
    8 soraFileSendEvent => api/3/settings-fields
    9 soraRecGetPresignedUrl (deprecated) => api/3/settings-fields
    10 soraRecGetMultiPresignedUrl (recommended) => api/3/settings-fields
    11 fileUploadEvent => api/3/settings-fields
    12 fileUploadGetUrl => api/3/settings-fields
    13 Authentication key response: authenticationKey. => api/3/authkey-response
    14 Activation request: a client id. => api/3/activation-clientId, api/3/activation-mimi
    15 Two readings exist. => none: introduces the two readings
    16 One describes a body carrying a client id. => api/3/activation-clientId
    17 The other names the response or body fields mimiClientId and mimiClientSecret. => api/3/activation-mimi
    18 Device activation status: deviceId, activated (boolean), clientId (null when not activated), status (nullable), and status is activated or deactivated. => api/3/activation-status, api/3/activation-status-null
    19 Device status (a device's reported state): => none: introduces the list below
    20 power: started or finished => api/3/status-power
    21 wearing: device_wear or device_takeoff => api/3/status-wearing
    22 network: connectivity_online or connectivity_offline => api/3/status-network
    23 charging: start_charging or stop_charging => api/3/status-charging
    24 batteryPercentage: integer => api/3/status-battery
    25 latitude, longitude => api/3/status-location
    26 firmware: version => api/3/status-firmware
    27 apps: list of package and version => api/3/status-apps
    28 lang: list => api/3/status-lang
    29 an update date for each of power, wearing, network, charging, battery and location => api/3/status-dates
    30 Hardware properties: => none: introduces the list below
    31 deviceId => api/7/hardware
    32 model: name, identifier, description, shape (box or neck-mounted). => api/3/hardware-model
    33 Null when not registered. => api/3/hardware-model
    34 camera list: direction (landscape or portrait), mountedPosition, resolution with maxWidth and maxHeight. => api/3/hardware-camera
    35 Null when not registered. => api/3/hardware-camera
    36 macAddressWifi, macAddressBluetooth => api/3/hardware-mac
    37 specificDestination (optional) => api/3/hardware-destination
    38 APN entry: => none: introduces the list below
    39 Required: name, apn, mcc, mnc. => api/3/apn-required
    40 Optional: proxy, port, user, server, password, mmsc, mmsproxy, mmsport, type, protocol, carrierEnabled, roamingProtocol, mvnoType, mvnoMatchData. => api/3/apn-optional
    41 Integer fields: authType, bearer, bearerBitmask. => api/3/apn-integers
    42 Wi-Fi entry: ssid (required), password, security. => api/3/wifi
    43 Language list: array of two-letter language codes. => api/3/languages
    44 App install request: package, version. => api/3/app-install
    45 Firmware update request: version. => api/3/firmware-update
    46 Software upload request: package, version, fileSize. => api/3/upload-request
    47 Software upload result: => none: introduces the list below
    48 appFileExists => api/3/upload-result
    49 chunkPartSize => api/3/upload-result
    50 uploadId (null) => api/3/upload-result
    51 urlList entries: uploadUrl, startTimestamp, endTimestamp, expireIn (seconds) => api/3/upload-urls
    52 Available software list: appVersions (package, version), totalCount, offset, limit. => api/3/software-list
    53 Available firmware list: firmwareVersions, each with package and version. => api/3/firmware-list
    54 Transaction: transactionId (integer), deviceId, transactionStatus, operationId, createdAt, updatedAt. => api/3/transaction
    55 Transaction list: transactions plus parameters (deviceId, completionStatus, order, sortBy, perPage, page, isNext). => api/3/transaction-list
    56 Cancel result: canceledTransactions, a list of ids. => api/3/cancel-result
    57 Command request: => none: introduces the list below
    58 package => api/3/command
    59 classpath => api/3/command
    60 action => api/3/command
    61 launchType (required): activity, service, foregroundservice or broadcast => api/3/command, api/3/command-launchType
    62 extras: free JSON => api/3/command
    63 Launcher key configuration: a key-config list. => api/3/launcher-entry
    64 Each entry has: => none: introduces the list below
    65 key-name: left, center or right => api/3/launcher-names
    66 key-event: first-pressed, single-released, double-pressed, double-released, long-pressed or long-released => api/3/launcher-events
    67 key-action: action-type (launch-app or none) and action-param => api/3/launcher-action
    68 action-param: package-name, class-name, action-name, flags, and extras. => api/3/launcher-param
    69 Each extra has key-name, key-type (String or int) and key-value. => api/3/launcher-param
    70 Video-call (WebRTC) request: soraVersion. => api/3/channel-request
    71 Response: endpointUrl and channelId (10 random characters, an underscore, then the creation time in milliseconds). => api/3/channel-response, api/3/channel-id
    72 Sora versions list: soraVersion and isDefault. => api/3/sora-versions
    73 Connectivity bodies: => none: introduces the list below
    74 state change body: state (enabled or disabled) => api/3/connectivity-state
    75 Bluetooth pairing add or delete body: macAddress => api/3/pairing-body
    76 Bluetooth pairing update body: macAddress plus state (connect or disconnect) => api/3/pairing-update
    77 Plan: videoMeeting (lite, basic 100, basic 200 or null) and speechRecognition (ja or null). => api/3/plan
    78 Billing: => none: introduces the list below
    79 numberOfDevices => api/3/billing-counts
    80 activateDevices (current month only) => api/3/billing-counts
    81 devices: deviceId, plans, amountVideoMeeting (hours), amountSpeechRecognition (hours) => api/3/billing-devices
    82 others: amounts => api/3/billing-others
    83 Error object: message. => api/3/error
    `,
  ),
  ...statements(
    'api/4',
    17,
    `
    1 Transaction status: created, published (device notified), accepted (being processed on the device), processed (done), canceled. => api/4/created-published, api/4/accepted, api/4/processed, api/4/canceled
    2 Canceled applies to cancellations from about May 2024; earlier cancellations show as processed. => api/4/canceled-before-2024
    3 published becomes accepted once the device receives and starts the work. => api/4/accepted
    4 A command transaction reaches processed when the on-device app was called or answered. => api/4/command-processed
    5 Cancellation is allowed for created. => api/4/cancel-created
    6 It is allowed for published only while the device cannot be reached, when the transaction waits for delivery. => api/4/cancel-waiting
    7 It is not allowed for accepted or processed, nor for published while the device is reachable. => api/4/cancel-not-accepted, api/4/cancel-not-processed, api/4/cancel-not-reachable
    8 All cancellable transactions of the device are cancelled together. => api/4/cancel-together
    9 Unprocessed transactions (created, published, accepted) are re-sent when the device comes online, while the retry count is below a fixed limit and the transaction is the latest for its operation. => api/4/resend-online, api/4/resend-limit, api/4/resend-latest
    10 For software and firmware updates, latest is judged per package and version. => api/4/latest-updates
    11 Other unprocessed transactions are canceled and a cancel notification with the reason is sent. => api/4/resend-limit, api/4/resend-latest
    12 Deactivating or resetting a device cancels its earlier unprocessed transactions. => api/4/deactivation-cancels, api/4/reset-cancels
    13 Completion filter values: uncompleted, completed, canceled. => api/4/completion-filter
    14 Device activation: activated or deactivated. => api/4/activation
    15 A device activated by another application gives 403. => api/4/activated-by-other
    16 Authentication key: issuing a new key invalidates any earlier key. => api/4/new-key
    17 Connectivity: Bluetooth on/off goes enabled or disabled; pairing devices go connect or disconnect. => api/4/bluetooth-switch, api/4/pairing-switch
    `,
  ),
  ...statements(
    'api/5',
    26,
    `
    1 Transaction list: perPage 1 to 100, page at least 1. => api/5/perPage, api/5/page
    2 Giving one of the two without the other is an error. => api/5/perPage-with-page
    3 sortBy is transactionId, deviceId, transactionStatus or operationId (default transactionId). => api/5/sortBy
    4 order is asc or desc (default asc). => api/5/order
    5 Billing: month 1 to 12 and year at least 2022, both required. => api/5/billing-month, api/5/billing-year
    6 Connectivity type: bluetooth, wifi or mobile. => api/5/connectivity-type
    7 Only bluetooth is supported; the others give 400. => api/5/connectivity-type
    8 Connectivity list target: all, connected or available (default available). => api/5/connectivity-target
    9 Settings URLs: must match http or https, at most 255 characters. => api/5/settings-url
    10 Language list: each item at most 8 characters, ASCII symbols and alphanumerics. => api/5/language-item
    11 Codes follow ISO 639-1 two-letter form and are checked only for format. => api/5/language-form
    12 The first is applied. => api/5/language-first
    13 Wi-Fi: ssid at most 32 characters, security at most 100. => api/5/wifi-ssid, api/5/wifi-security
    14 APN: name, apn, mcc and mnc 1 to 100 characters; other text fields at most 100. => api/5/apn-required-length, api/5/apn-text-length
    15 Software upload: package must not start with the reserved vendor prefix and must not be used by another developer. => api/5/upload-prefix, api/5/upload-other-developer
    16 The upload must use the content type for Android packages. => api/5/upload-content-type
    17 Multipart upload is not supported. => api/5/upload-no-multipart
    18 fileSize at least 1. => api/5/upload-size
    19 Firmware update: a downgrade gives 400. => api/5/firmware-downgrade
    20 Launcher key configuration: checked only for format and required keys. => api/5/launcher-format
    21 Commands: package 1 to 128 characters, classpath 1 to 256, action 1 to 128. => api/5/command-package, api/5/command-classpath, api/5/command-action
    22 extras at most 4096 bytes, otherwise an error. => api/5/extras-limit
    23 At least one of action, package, classpath should be given, otherwise an error notification results. => api/5/command-no-target
    24 Extras value types: string, boolean, integer, long, double, array, object. => api/5/extras-types
    25 Top-level numbers are integer if they fit, else long, else double. => api/5/extras-top-numbers
    26 Nested numbers are double. => api/5/extras-nested-numbers
    `,
  ),
  ...statements(
    'api/6',
    9,
    `
    1 Every call carries an access token in the Authorization header (bearer). => api/6/bearer
    2 applications read: settings, lists, transactions, billing, available software and firmware => api/6/applications-read
    3 applications write: settings update, key issue, software upload URL, cancellation => api/6/applications-write
    4 devices read: status, hardware properties => api/6/devices-read
    5 devices write: activate, deactivate, settings, update, reset, commands, uninstall, launcher keys => api/6/devices-write
    6 communication-service: channels, Sora versions => api/6/communication-service
    7 User roles: not shown. => none: there are no user roles
    8 Deactivated devices cannot be operated (403). => api/6/deactivated
    9 Minimum device client versions: connectivity 2.3.1 (firmware 9.001.0 or newer); another feature 2.1.1; uninstall 3.4.0. => api/6/client-connectivity, api/6/firmware-connectivity, api/6/client-launcher, api/6/client-uninstall
    `,
  ),
  ...statements(
    'api/7',
    41,
    `
    1 All paths start with /v1 under the API host. => api/7/paths
    2 {applicationId}, {deviceId}, {transactionId}, {package} and {type} are path parameters. => api/7/paths
    3 Changing calls answer 201 with a Location header (a transaction address) and a body holding transactionId, unless stated otherwise. => api/7/changing
    4 GET: /v1/applications/{applicationId}: settings => api/7/get-settings
    5 PATCH: /v1/applications/{applicationId}: settings fields to change => api/7/patch-settings
    6 POST: /v1/applications/{applicationId}/refresh_authkey: no body; 201 with authenticationKey => api/7/refresh-authkey
    7 GET: /v1/applications/{applicationId}/devices/{deviceId}: activation status => api/7/get-activation
    8 POST: /v1/applications/{applicationId}/devices/{deviceId}: activate; body with client id; 201, Location, transactionId => api/7/activate
    9 DELETE: /v1/applications/{applicationId}/devices/{deviceId}: deactivate; 201, Location, transactionId => api/7/deactivate
    10 GET: /v1/applications/{applicationId}/devices/{deviceId}/status: one device status => api/7/status
    11 GET: /v1/applications/{applicationId}/devices/status: list of statuses => api/7/status-list
    12 GET: /v1/devices/{deviceId}/hardware-properties: hardware properties => api/7/hardware
    13 PUT: .../devices/{deviceId}/settings/apn: APN list; transactionId => api/7/apn
    14 PUT: .../devices/{deviceId}/settings/wifi: Wi-Fi list; transactionId => api/7/wifi
    15 PUT: .../devices/{deviceId}/settings/lang: language list; transactionId => api/7/lang
    16 PUT: .../devices/{deviceId}/apps: package, version; update now => api/7/update-app
    17 PUT: .../devices/{deviceId}/firmware: version; update now => api/7/update-firmware
    18 GET: /v1/applications/{applicationId}/apps: query package, mode=latest, offset, limit (default 100); deliverable software => api/7/list-apps
    19 POST: /v1/applications/{applicationId}/apps: software upload request; upload result => api/7/upload-app
    20 GET: /v1/applications/{applicationId}/firmware: deliverable firmware => api/7/list-firmware
    21 GET: /v1/applications/{applicationId}/transactions: queries deviceId, completionStatus, order, sortBy, perPage, page => api/7/list-transactions
    22 GET: /v1/applications/{applicationId}/transactions/{transactionId}: one transaction => api/7/get-transaction
    23 DELETE: /v1/applications/{applicationId}/devices/{deviceId}/transactions: cancel; canceledTransactions => api/7/cancel
    24 POST: /v1/applications/{applicationId}/channels: WebRTC request; endpointUrl, channelId => api/7/channels
    25 GET: /v1/applications/{applicationId}/sora/versions: versions in descending order => api/7/sora-versions
    26 PUT: .../devices/{deviceId}/reset: wipes the device to factory state => api/7/reset
    27 PUT: .../devices/{deviceId}/apps/launcher/keys: key configuration => api/7/launcher-keys
    28 PUT: .../devices/{deviceId}/commands: command request => api/7/commands
    29 DELETE: .../devices/{deviceId}/package/{package}: uninstall => api/7/uninstall
    30 GET: /v1/applications/{applicationId}/billing: queries month, year => api/7/billing
    31 GET: .../devices/{deviceId}/connectivity: query target; list of devices or networks => api/7/connectivity-list
    32 GET: .../devices/{deviceId}/connectivity/{type}/state: read on/off state => api/7/get-state
    33 PUT: .../devices/{deviceId}/connectivity/{type}/state: body state => api/7/put-state
    34 DELETE: .../devices/{deviceId}/connectivity/{type}/reset: reset => api/7/connectivity-reset
    35 POST: .../devices/{deviceId}/connectivity/bluetooth: body macAddress; add pairing => api/7/pairing-add
    36 PUT: .../devices/{deviceId}/connectivity/bluetooth: body macAddress and state => api/7/pairing-change
    37 DELETE: .../devices/{deviceId}/connectivity/bluetooth: body macAddress => api/7/pairing-delete
    38 The connectivity results arrive later as callbacks. => cb/3/connectivity-list, cb/3/on-off, cb/3/reset, cb/3/pairing
    39 Network settings and a notification settings patch are also named; their exact shapes are not shown. => none: their shapes are not shown, the settings calls above have them
    40 The result of each call other than the statuses above is delivered as a callback. => api/1/asynchronous
    41 A device status GET on wrong methods gives 405. => api/7/status-405
    `,
  ),
  ...statements(
    'api/8',
    10,
    `
    1 400: bad input; body reads "Invalid request body"; unsupported connectivity type; firmware downgrade => api/8/400-body, api/8/400-connectivity-type, api/8/400-downgrade
    2 401: authentication failure => api/8/401
    3 403: wrong URL, application not registered, device not activated, device activated by another application => api/8/403-url, api/8/403-application, api/8/403-not-activated, api/8/403-other
    4 404: notification destinations not set, or wrong parameter => api/8/404-destination, api/8/404-parameter
    5 405: non-GET method on the status endpoints => api/8/405
    6 500: internal error (for example database, developer not registered) => api/8/500-database, api/8/500-developer
    7 503: channels call when every endpoint has reached its connection limit => api/8/503-channels
    8 Activation 403 messages: "not contracted or activation limit exceeded." and "ClientId is already in use." => api/8/not-contracted, api/8/client-id-in-use
    9 Cancel message: "The transaction was canceled because the retry limit was exceeded." => api/8/retry-limit
    10 Error body shape: message. => api/8/shape
    `,
  ),
  ...statements(
    'api/9',
    11,
    `
    1 Software list default page size 100. => api/9/software-page
    2 Example page size 50. => none: an example
    3 Transaction perPage maximum 100. => api/9/transactions-page
    4 Billing year at least 2022, month 1 to 12. => api/5/billing-month, api/5/billing-year
    5 Usage hours are summed; any part under an hour is rounded up. => api/9/usage-hours
    6 Example chunk part size 10485760 bytes (10 MiB). => api/9/chunk-part-size
    7 Example URL lifetime 3600 seconds. => api/9/url-lifetime
    8 Progress notifications for software and firmware every 10 seconds. => api/9/progress
    9 Command extras at most 4096 bytes. => api/5/extras-limit
    10 Retry count limit: value not shown. => api/9/retry-limit
    11 Minimum client versions: 2.3.1, 2.1.1, 3.4.0 as above. => api/6/client-connectivity, api/6/client-launcher, api/6/client-uninstall
    `,
  ),
];

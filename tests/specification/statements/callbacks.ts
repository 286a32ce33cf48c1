import { type Statement, statements } from './statement.ts';

/** The statements of the specification of callbacks and site, in its own order. */
export const callbackStatements: readonly Statement[] = [
  ...statements(
    'cb/0',
    4,
    `
    1 The product is a cloud service API for wearable headset devices, with a developer documentation site. => none: a summary of what follows
    2 Customers build applications for the devices and run their own web servers. => none: a summary of what follows
    3 This document covers what the provider sends to the customer's servers (notification callbacks), the endpoints the customer must host (signed URLs for recordings and for file upload), their payloads and errors, and the documentation site itself. => none: a summary of what follows
    4 The device-management calls the customer makes to the provider are in another document. => none: names the other document
    `,
  ),
  ...statements(
    'cb/1',
    16,
    `
    1 Operations on devices are asynchronous. => api/1/asynchronous
    2 A call returns a transactionId and the result arrives later as a callback to the customer's server. => api/1/asynchronous
    3 Callback addresses and signed-URL endpoint addresses are registered by the customer in the application settings, by a patch on the application resource. => api/7/patch-settings
    4 The settings fields are: => none: introduces the list below
    5 deviceEvent => api/3/settings-fields
    6 remoteSupportEvent => api/3/settings-fields, cb/7/remote-support
    7 soraEvent => api/3/settings-fields
    8 soraFileSendEvent => api/3/settings-fields
    9 soraRecGetPresignedUrl (deprecated, single-part) => api/3/settings-fields, cb/3/recording-single
    10 soraRecGetMultiPresignedUrl (multipart, recommended) => api/3/settings-fields, cb/3/recording-multipart
    11 fileUploadEvent => api/3/settings-fields
    12 fileUploadGetUrl => api/3/settings-fields
    13 The read form of the settings also carries authenticationKey. => api/3/settings-key
    14 The documentation site is a static developer documentation and API reference site. => site/docs, site/api-reference
    15 Its audience is developers who integrate with the provider's API. => none: who the readers are
    16 Its only locale is Japanese (ja). => site/locale
    `,
  ),
  ...statements(
    'cb/2',
    48,
    `
    1 Routes of the documentation site: => none: introduces the list below
    2 /: home => site/home
    3 /docs: documentation root => site/docs
    4 /docs/introduction/about: overview => site/docs
    5 /docs/introduction/preparation: preparation for use => site/docs
    6 /docs/introduction/authentication: API authentication => site/docs
    7 /docs/introduction/tutorial: tutorial => site/docs
    8 /docs/introduction/sora: use of remote support => site/docs
    9 /apis/v1/cws_api: API reference => site/api-reference
    10 /apis/v1/cws_notification: notification API reference => site/notification-reference
    11 /apis/v1/cws_presigned_url: reference titled 'User APIs requirements' (requirements on the customer-provided APIs) => site/presigned-reference
    12 /information: announcements page => site/information
    13 Any other path shows a not-found page. => site/not-found
    14 The page says the page was not found and asks the user to tell the site owner that the link is broken. => site/not-found
    15 A path ending in .html or /index.html is treated as the path without that suffix. => site/html-suffix
    16 The five /docs/introduction pages share one tutorial sidebar. => site/docs
    17 Route content loads on demand. => site/loading
    18 While it loads, a spinner is shown. => site/loading
    19 If loading fails, a warning is logged and the page reloads. => site/loading
    20 An error state shows the message with a Retry button. => site/loading
    21 The error page is titled 'An error occurred' and has a try-again button. => site/error-pages
    22 A crash fallback titled 'This page crashed.' also has a try-again button. => site/error-pages
    23 Navigation and chrome: => none: introduces the list below
    24 The top navigation has two dropdowns (the introduction guide and the API reference) and a link to announcements. => site/navigation
    25 There is a mobile side menu. => site/navigation
    26 The layout switches between desktop and mobile at 996 pixels. => site/navigation
    27 There is a language dropdown with the single locale ja, a docs-version dropdown, and a search slot. => site/navigation, site/locale, site/search
    28 There is a light/dark colour toggle. => site/colour
    29 Light is the default. => site/colour
    30 The system colour preference is not respected. => site/colour
    31 There is a skip-to-content link and a back-to-top button. => site/skip-and-top
    32 There is a dismissible announcement bar. => site/announcement-bar
    33 The footer links to an external inquiry page and to an external sign-up page for notification mailings. => site/footer
    34 It carries a provider copyright line for the year 2025. => site/footer
    35 The docs sidebar can be hidden. => site/sidebar
    36 Its categories are not auto-collapsed. => site/sidebar
    37 The table of contents shows heading levels 2 to 3. => site/contents
    38 The chosen docs version is kept in local storage. => site/version-kept
    39 Broken links fail the site build. => site/broken-links
    40 Theme strings exist for blog archive, author and tag pages, breadcrumbs, previous/next paginators, draft and unlisted pages, and code-block copy and word-wrap toggles. => site/strings, site/breadcrumbs, site/paginators, site/draft, site/unlisted, site/code-blocks
    41 Unlisted pages are excluded from search and visible only through the direct link. => site/unlisted
    42 Documentation versions can be latest, unmaintained or unreleased. => site/version-banners
    43 Route parameters are not shown. => none: there are no route parameters
    44 Prefetching of routes is skipped on slow 2g connections and in data-saver mode. => site/prefetch
    45 The announcements page shows a markdown announcements document fetched from a URL. => site/information
    46 There are separate production, staging and development variants, and the target environment is production. => site/announcement-variants
    47 The request method and response shape are not shown. => none: left open
    48 The API reference pages are generated from three specification files: the main API, the notification API and the presigned-URL document. => site/api-reference, site/notification-reference, site/presigned-reference
    `,
  ),
  ...statements(
    'cb/3',
    59,
    `
    1 All callbacks carry applicationId, deviceId (the device's IMEI) and timestamp. => cb/3/common
    2 Transaction results also carry transactionId (integer), operationId, notificationType, result (success or failure) and message. => cb/3/transaction
    3 Software and firmware update variant: adds progress from 0.0 to 1.0. => cb/3/update
    4 Command result: transactionId, operationId, success (boolean), process (fixed 'processed'), message, customData (string, empty when none). => cb/3/command
    5 Uninstall result: package, result (success or failure), message. => cb/3/uninstall
    6 Example message: 'uninstall success.' => cb/3/uninstall
    7 Cancelled transaction: notificationType, result (always failure), message. => cb/3/canceled
    8 Known operationId values for transaction results: => none: introduces the list below
    9 put-v1-applications-devices-commands => cb/3/op-commands
    10 get-v1-applications-connectivity-list => cb/3/op-connectivity-list
    11 get-v1-applications-connectivity-state => cb/3/op-get-state
    12 put-v1-applications-connectivity-state => cb/3/op-put-state
    13 delete-v1-applications-connectivity-reset => cb/3/op-reset
    14 post-v1-applications-bluetooth-device => cb/3/op-post-bluetooth
    15 put-v1-applications-bluetooth-device => cb/3/op-put-bluetooth
    16 delete-v1-applications-bluetooth-device => cb/3/op-delete-bluetooth
    17 delete-v1-applications-devices-package => cb/3/op-package
    18 Connectivity list result: => none: introduces the list below
    19 Fields: transactionId, operationId, message, networkType (bluetooth, wifi, apn), target (all, connected, available), statusCode (200, 403, 500). => cb/3/connectivity-list, cb/8/list-codes
    20 devices is present only for bluetooth. => cb/3/connectivity-list-devices
    21 networks is present only for wifi and apn. => cb/3/connectivity-list-devices
    22 Bluetooth device info: => none: introduces the list below
    23 status {mode, registered (boolean)}, name, alias, address (MAC address). => cb/3/bluetooth-device
    24 mode is connected, disconnected or detected in the list view. => cb/3/bluetooth-device
    25 In the pairing result it is connected, disconnected or deleted. => cb/3/pairing-modes
    26 Network info: => none: introduces the list below
    27 status {mode (connected, available, unavailable), registered}, level (integer), name, networkId (integer), security (WPA, WEP, NONE). => cb/3/network
    28 Connectivity on/off result: => none: introduces the list below
    29 networkType (bluetooth, wifi, mobile), statusCode (200, 400, 500), state (enabled, disabled, unknown). => cb/3/on-off, cb/8/on-off-codes
    30 Connectivity reset result: => none: introduces the list below
    31 networkType (bluetooth, wifi, mobile), statusCode (200, 500). => cb/3/reset, cb/8/reset-codes
    32 Bluetooth pairing result: => none: introduces the list below
    33 networkType is bluetooth. => cb/3/pairing
    34 statusCode is 200, 400, 403, 404, 409 or 500. => cb/8/pairing-codes
    35 It also carries devices. => cb/3/pairing
    36 Bluetooth connection notification: => none: introduces the list below
    37 operationId notify-bluetooth-connection, transactionId, message, networkType bluetooth, statusCode (200, 500), devices (mode connected or disconnected, registered). => cb/3/bluetooth-connection, cb/8/connection-codes
    38 notify-custom-data: success (default false), message (fixed 'notify ACTION_SEND_CUSTOM_DATA message.'), customData => cb/3/notify-custom-data
    39 notify-app-status: type app_status, appType device, appStatus (started or finished), text => cb/3/notify-app-status
    40 notify-battery-charging, notify-device-wearing-status: usage: device_wear, device_takeoff, start_charging or stop_charging => cb/3/notify-battery-charging, cb/3/notify-device-wearing-status
    41 notify-network-connection-status: status: connectivity_online or connectivity_offline => cb/3/notify-network-connection-status
    42 notify-battery-percentage-changed: status battery_changed, batteryPercentage (integer percent) => cb/3/notify-battery-percentage-changed
    43 notify-location: status location, lat and lon (strings) => cb/3/notify-location
    44 notify-network-level: status network_level, networkType (wifi or mobile), active (boolean), networkName (SSID or access point name), networkLevel (integer 0 to 4) => cb/3/notify-network-level
    45 notify-volume: status volume, volumeType (fixed media), stream (fixed music), min, max, current (integers; example max 16, example min 0) => cb/3/notify-volume
    46 The documentation also lists device-state notifications for boot, signal and bluetooth. => cb/3/notify-boot, cb/3/notify-signal, cb/3/notify-bluetooth
    47 Their field shapes are not shown beyond the above. => none: left open
    48 The events are connection created, updated and destroyed, archive available and archive failed. => cb/3/sora-events
    49 Their payload shapes are not shown. => none: left open
    50 channel {channelId, metaFile, connections[{connectionId, jsonFile, webmFile}]}, plus an optional message on failure. => cb/3/recording
    51 webmFile is a string when the single-part setting is registered. => cb/3/recording-single
    52 It is an object {file, splitted (number of parts), uploadId, parts (list of part tags)} when the multipart setting is registered. => cb/3/recording-multipart
    53 If both settings are registered, the multipart one wins. => cb/3/recording-both
    54 Failure messages: 'archive is not found.' and 'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.' => cb/8/archive-not-found, cb/8/presigned-failed
    55 The notification is sent after the signed-URL endpoint answered 200. => cb/3/recording-after-200
    56 result (success or failure), file (path), message. => cb/3/file-upload
    57 Failure reasons: file size over the limit, device not associated with the application, signed URL cannot be obtained, upload to the signed URL failed. => cb/8/file-reasons
    58 The file path format is {applicationId}/{deviceId}/upload_files/{any path and file name}. => cb/3/file-path
    59 See Callbacks 7. => none: a reference
    `,
  ),
  ...statements(
    'cb/4',
    18,
    `
    1 Transaction status: created, then published (device notified), accepted (being processed on the device), processed (done), or canceled. => api/4/created-published, api/4/accepted, api/4/processed, api/4/canceled
    2 notificationType values are accepted, in_progress and processed. => cb/4/notification-types
    3 in_progress is sent only for software and firmware updates, at 10-second intervals. => cb/4/in-progress
    4 Unprocessed transactions (created, published, accepted) are re-sent when the device comes online. => api/4/resend-online
    5 This holds while the retry count is below a fixed limit and the transaction is the latest for its operation. => api/4/resend-limit, api/4/resend-latest
    6 For software and firmware updates, 'latest' is judged per package and version. => api/4/latest-updates
    7 The limit's value is not shown. => none: left open, the setting TRANSACTIONS_RETRY_LIMIT
    8 Otherwise the transaction is canceled and a cancel notification with a reason is sent. => api/4/resend-limit, api/4/resend-latest
    9 Deactivating or resetting a device cancels its earlier unprocessed transactions. => api/4/deactivation-cancels, api/4/reset-cancels
    10 Command execution gives two notifications. => cb/4/command-two
    11 The first is the result of calling the on-device app. => cb/4/command-two
    12 The second is the app's own processing result. => cb/4/command-two
    13 Bluetooth on/off states are enabled and disabled, and unknown in results. => api/4/bluetooth-switch, cb/3/on-off
    14 Pairing devices go connect or disconnect. => api/4/pairing-switch
    15 App status values are started and finished. => cb/3/notify-app-status
    16 The multipart upload needs a completion step by the customer. => cb/4/multipart-completion
    17 It is done when the recording save notification arrives. => cb/4/multipart-completion
    18 Other transition rules are not shown. => none: left open
    `,
  ),
  ...statements(
    'cb/5',
    12,
    `
    1 Rules for the customer's endpoints and files: => none: introduces the list below
    2 File-upload size must be at least 1 byte and at most 20 MB (example limit 20971520 bytes). => cb/5/file-size
    3 Otherwise the feature cannot be used. => cb/5/file-size, cb/8/file-reasons
    4 Both fileUploadGetUrl and fileUploadEvent must be configured, or file upload is unavailable. => cb/5/file-settings
    5 The file-upload signed URL supports single-part only. => cb/5/file-single-part
    6 For multipart recordings, the number of URLs returned must equal the requested splitted count, in issue order. => cb/5/splitted
    7 Otherwise the upload fails. => cb/5/splitted
    8 JSON files (metaFile, jsonFile) get non-multipart URLs. => cb/5/json-single
    9 Only the webm file gets multipart URLs. => cb/5/json-single
    10 networkLevel is an integer from 0 to 4. => cb/9/network-level
    11 Settings URLs: => none: introduces the list below
    12 Each must match http or https, at most 255 characters. => api/5/settings-url
    `,
  ),
  ...statements(
    'cb/6',
    6,
    `
    1 Callbacks are authenticated by a header, X-TLPF-NOTIFICATION-KEY. => cb/6/signature
    2 It holds the HMAC-SHA256 hex digest of the request body, keyed by the issued authentication key. => cb/6/signature
    3 The receiver verifies it. => cb/6/signature
    4 A request header also carries applicationId. => cb/6/application-header
    5 Only two parties exist here: the provider and the customer's server. => none: names the parties
    6 User roles are not shown. => none: there are no user roles
    `,
  ),
  ...statements(
    'cb/7',
    20,
    `
    1 All provider-to-customer calls are POST with a JSON body and the two headers above. => cb/7/post
    2 Body: channel {channelId, metaFile, connections[{connectionId, jsonFile, webmFile as string}]}. => cb/7/url-single
    3 Response: a map from each file name to its signed URL string. => cb/7/url-single
    4 Errors: 400, 500. => cb/7/url-errors
    5 Body: the same, but webmFile is an object {file, splitted}. => cb/7/url-multipart
    6 Response: json file names map to a URL string. => cb/7/url-multipart, cb/5/json-single
    7 Webm file names map to {uploadId, parts[list of URLs]}. => cb/7/url-multipart
    8 The count of parts equals splitted. => cb/5/splitted
    9 Errors: 400, 500. => cb/7/url-errors
    10 Body: {deviceId, file}. => cb/7/url-file
    11 Response: {url}. => cb/7/url-file
    12 Errors: 400, 500. => cb/7/url-errors
    13 They are pushed to the addresses in deviceEvent, soraEvent, soraFileSendEvent and fileUploadEvent. => cb/7/destinations
    14 The exact mapping of each callback to its setting is not shown. => none: left open, rule C9 decides it
    15 remoteSupportEvent is unused. => cb/7/remote-support
    16 The file upload notification receiver answers 200, 400 or 500. => none: a duty of the receiver, any other answer is repeated as of every callback (rule C10)
    17 What the provider does with the answer is not shown. => none: left open, rule C10 decides it
    18 Callbacks sent: transaction results, connectivity results, cancel, uninstall, custom string notify, device status (boot, wearing, charging, network, battery, location, signal, volume, bluetooth), Sora events, recorded data, file upload. => cb/3/transaction, cb/3/connectivity-list, cb/3/canceled, cb/3/uninstall, cb/3/notify-custom-data, cb/3/notify-boot, cb/3/notify-device-wearing-status, cb/3/notify-battery-charging, cb/3/notify-network-connection-status, cb/3/notify-battery-percentage-changed, cb/3/notify-location, cb/3/notify-signal, cb/3/notify-volume, cb/3/notify-bluetooth, cb/3/sora-events, cb/3/recording, cb/3/file-upload
    19 Documentation-site calls: the only one is the announcements fetch. => site/only-call
    20 See Callbacks 2. => none: a reference
    `,
  ),
  ...statements(
    'cb/8',
    14,
    `
    1 Signed-URL endpoints: 400 Bad Request for input errors, 500 Internal Server Error for internal errors such as a database connection. => cb/7/url-errors
    2 Result statusCode values: => none: introduces the list below
    3 connectivity list: 200, 403, 500 => cb/8/list-codes
    4 on/off: 200, 400, 500 => cb/8/on-off-codes
    5 reset: 200, 500 => cb/8/reset-codes
    6 pairing: 200, 400, 403, 404, 409, 500 => cb/8/pairing-codes
    7 bluetooth connection: 200, 500 => cb/8/connection-codes
    8 Cancel messages: => none: introduces the list below
    9 'The transaction was canceled because the retry limit was exceeded.' => cb/8/cancel-retry
    10 'The transaction was canceled because there is a new transaction.' (an older one with the same operation) => cb/8/cancel-newer
    11 'The transaction was canceled because it occurred before deactivation.' => cb/8/cancel-deactivation
    12 'The transaction was canceled because it occurred before reset.' => cb/8/cancel-reset
    13 Recording messages: 'archive is not found.' and 'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.' => cb/8/archive-not-found, cb/8/presigned-failed
    14 Site: 'An error occurred' with try again; 'This page crashed.' with try again; not-found page. => site/error-pages, site/not-found
    `,
  ),
  ...statements(
    'cb/9',
    12,
    `
    1 File upload size is from 1 byte to 20 MB. => cb/9/file-size
    2 Network level is 0 to 4. => cb/9/network-level
    3 Progress notifications come every 10 seconds. => cb/9/progress
    4 The signature algorithm is HMAC-SHA256. => cb/6/signature
    5 Fixed values: process 'processed', volumeType 'media', stream 'music'. => cb/9/fixed
    6 The retry count limit is not shown. => none: left open, the setting TRANSACTIONS_RETRY_LIMIT
    7 Site: the default and only locale is ja. => site/locale
    8 The primary colour is #1890ff. => site/colour
    9 The table of contents spans heading levels 2 to 3. => site/contents
    10 The desktop/mobile breakpoint is 996 pixels. => site/navigation
    11 The copyright year is 2025. => site/footer
    12 The site name is shown as a guide for the provider's service. => site/name
    `,
  ),
];

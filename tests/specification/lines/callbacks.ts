import { type Line, lines } from './line.ts';

/** Promises of the callbacks' specification, section by section. */
export const callbackLines: readonly Line[] = [
  ...lines(
    'cb/3',
    'Payloads',
    `
    common: all callbacks carry applicationId, deviceId and timestamp
    transaction: transaction results also carry transactionId, operationId, notificationType, result, message
    update: software and firmware update variant: progress from 0.0 to 1.0
    command: command result: transactionId, operationId, success, process (fixed 'processed'), message, customData
    uninstall: uninstall result: package, result, message
    canceled: cancelled transaction: notificationType, result (always failure), message
    op-commands: operationId put-v1-applications-devices-commands
    op-connectivity-list: operationId get-v1-applications-connectivity-list
    op-get-state: operationId get-v1-applications-connectivity-state
    op-put-state: operationId put-v1-applications-connectivity-state
    op-reset: operationId delete-v1-applications-connectivity-reset
    op-post-bluetooth: operationId post-v1-applications-bluetooth-device
    op-put-bluetooth: operationId put-v1-applications-bluetooth-device
    op-delete-bluetooth: operationId delete-v1-applications-bluetooth-device
    op-package: operationId delete-v1-applications-devices-package
    connectivity-list: list result: transactionId, operationId, message, networkType, target, statusCode
    connectivity-list-devices: devices only for bluetooth, networks only for wifi and apn
    bluetooth-device: status {mode, registered}, name, alias, address; mode connected, disconnected or detected
    pairing-modes: in the pairing result mode is connected, disconnected or deleted
    network: status {mode, registered}, level, name, networkId, security (WPA, WEP, NONE)
    on-off: on/off result: networkType, statusCode, state (enabled, disabled, unknown)
    reset: reset result: networkType, statusCode
    pairing: pairing result: networkType bluetooth, statusCode, devices
    bluetooth-connection: notify-bluetooth-connection: transactionId, message, networkType, statusCode, devices
    notify-custom-data: success (default false), message fixed, customData
    notify-app-status: type app_status, appType device, appStatus, text
    notify-battery-charging: usage start_charging or stop_charging
    notify-device-wearing-status: usage device_wear or device_takeoff
    notify-network-connection-status: status connectivity_online or connectivity_offline
    notify-battery-percentage-changed: status battery_changed, batteryPercentage
    notify-location: status location, lat and lon (strings)
    notify-network-level: status network_level, networkType, active, networkName, networkLevel (0 to 4)
    notify-volume: status volume, volumeType media, stream music, min, max, current
    notify-boot: notify-boot (no shape shown)
    notify-signal: notify-signal (no shape shown)
    notify-bluetooth: notify-bluetooth (no shape shown)
    sora-events: connection created, updated and destroyed, archive available and archive failed
    recording: channel {channelId, metaFile, connections[{connectionId, jsonFile, webmFile}]}, message on failure
    recording-single: webmFile is a string with the single-part setting
    recording-multipart: webmFile is {file, splitted, uploadId, parts} with the multipart setting
    recording-both: with both settings the multipart one wins
    recording-after-200: sent after the signed-URL endpoint answered 200
    file-upload: result, file (path), message
    file-path: {applicationId}/{deviceId}/upload_files/{any path and file name}
    `,
  ),
  ...lines(
    'cb/4',
    'States and transitions',
    `
    notification-types: notificationType is accepted, in_progress or processed
    in-progress: in_progress only for software and firmware updates, every 10 seconds
    command-two: command execution gives two notifications: of calling the app, then the app's own result
    multipart-completion: the multipart upload is completed by the customer after the recording save notification
    `,
  ),
  ...lines(
    'cb/5',
    'Validation rules',
    `
    file-size: file upload of 1 byte to 20 MB (20971520 bytes)
    file-settings: both fileUploadGetUrl and fileUploadEvent must be configured
    file-single-part: the file-upload signed URL supports single-part only
    splitted: the number of URLs must equal splitted, in issue order; otherwise the upload fails
    json-single: JSON files get non-multipart URLs; only the webm file gets multipart URLs
    `,
  ),
  ...lines(
    'cb/6',
    'Roles and permissions',
    `
    signature: X-TLPF-NOTIFICATION-KEY: HMAC-SHA256 hex digest of the body, keyed by the authentication key
    application-header: a request header carries applicationId
    `,
  ),
  ...lines(
    'cb/7',
    'Calls of the provider',
    `
    post: all calls are POST with a JSON body and the two headers
    url-single: signed URL for recordings, single part: request and map of file names to URLs
    url-multipart: signed URL for recordings, multipart: request, uploadId and parts
    url-file: signed URL for file upload: {deviceId, file} and {url}
    url-errors: 400 and 500 of the signed-URL endpoints
    remote-support: remoteSupportEvent is unused
    destinations: notifications go to deviceEvent, soraEvent, soraFileSendEvent and fileUploadEvent
    `,
  ),
  ...lines(
    'cb/8',
    'Error catalogue',
    `
    list-codes: connectivity list statusCode 200, 403, 500
    on-off-codes: on/off statusCode 200, 400, 500
    reset-codes: reset statusCode 200, 500
    pairing-codes: pairing statusCode 200, 400, 403, 404, 409, 500
    connection-codes: bluetooth connection statusCode 200, 500
    cancel-retry: 'The transaction was canceled because the retry limit was exceeded.'
    cancel-newer: 'The transaction was canceled because there is a new transaction.'
    cancel-deactivation: 'The transaction was canceled because it occurred before deactivation.'
    cancel-reset: 'The transaction was canceled because it occurred before reset.'
    archive-not-found: 'archive is not found.'
    presigned-failed: 'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.'
    file-reasons: file size over the limit, device not associated, signed URL cannot be obtained, upload failed
    `,
  ),
  ...lines(
    'cb/9',
    'Business constants',
    `
    file-size: file upload size is from 1 byte to 20 MB
    network-level: network level is 0 to 4
    progress: progress notifications come every 10 seconds
    fixed: process 'processed', volumeType 'media', stream 'music'
    `,
  ),
];

/** Bounds of payloads, which both sides of the writer's thread keep to. */

/** Payloads up to this many bytes are kept; larger ones as digest only. */
export const MAX_PAYLOAD = 4096

/** Bytes of the salt that a payload is digested with. */
export const SALT_BYTES = 16

/** The smallest media that are what they say: the suite looks at type and base64, a person may open them. */

/** One red pixel, as image/png. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** Four samples of silence, as audio/wav: 8000 Hz, mono, 8 bits. */
export const WAV = 'UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA'

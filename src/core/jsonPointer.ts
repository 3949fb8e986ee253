/** A part of a JSON Pointer (RFC 6901), escaped. */
export const escapedPart = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1')

export function parseJsonPointer(pointer: string): string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The facade as an OAuth protected resource, and its authorization server. */
export type ProtectedResource = {
  /** The URL of the facade for callers, without a trailing slash. */
  readonly address: string
  /** The issuer of accepted tokens. */
  readonly issuer: string
}

declare module './context.ts' {
  interface Services {
    readonly protectedResource: ProtectedResource
  }
}

/** Below the facade's address, so that a proxy that forwards the address forwards this too. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Returns the parameter of the 401 challenge that points to the metadata (RFC 9728 section 5.1). */
export function metadataParameter({ address }: ProtectedResource): string {
  return `resource_metadata="${address}${METADATA_PATH}"`
}

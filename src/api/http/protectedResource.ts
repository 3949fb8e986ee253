/** Who this is to clients of OAuth, and where they sign in. */
export type ProtectedResource = {
  /** How callers reach the facade, without a closing slash. */
  readonly address: string
  /** The issuer of the tokens that are taken. */
  readonly issuer: string
}

declare module './context.ts' {
  interface Services {
    readonly protectedResource: ProtectedResource
  }
}

/** Below the address, so that a proxy that passes on the address passes on this too. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** What the answer to a missing token, or a wrong one, says of it (RFC 9728 section 5.1). */
export function metadataParameter({ address }: ProtectedResource): string {
  return `resource_metadata="${address}${METADATA_PATH}"`
}

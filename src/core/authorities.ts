import { getCACertificates } from 'node:tls'

/** Authorities for a connection: one more beside those that Node trusts, which alone would take their place. */
export const believing = (pem: string): string[] => [...getCACertificates('default'), pem]

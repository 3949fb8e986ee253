import { getCACertificates } from 'node:tls'

/** The CA certificates for a connection: `pem` alone would replace the ones that Node trusts, so both are listed. */
export const withDefaultAuthorities = (pem: string): string[] => [...getCACertificates('default'), pem]

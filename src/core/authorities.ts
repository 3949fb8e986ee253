import { getCACertificates } from 'node:tls'
import { buildConnector } from 'undici'

/** The CA certificates for a connection: `pem` alone would replace the ones that Node trusts, so both are listed. */
export const withDefaultAuthorities = (pem: string): string[] => [...getCACertificates('default'), pem]

/**
 * Makes connections that trust the authorities of the moment. Sessions of TLS are not resumed across a change: whoever
 * resumes one is not verified again.
 *
 * @param authorities returns PEM; those that Node trusts when absent
 * @param trusted what a connection trusts, by the PEM
 */
export function connectorTrusting(
  authorities: (() => string) | undefined,
  options: buildConnector.BuildOptions = {},
  trusted: (pem: string) => string | string[] = (pem) => pem,
): buildConnector.connector {
  if (authorities === undefined) return buildConnector(options)
  let known: string | undefined
  let connect = buildConnector(options)
  return (target, done) => {
    const pem = authorities()
    if (pem !== known) {
      connect = buildConnector({ ...options, ca: trusted(pem) })
      known = pem
    }
    connect(target, done)
  }
}

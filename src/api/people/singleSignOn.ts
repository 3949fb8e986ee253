import { completeProvider } from '../../contracts/ssoProviders.ts'
import type { SsoConnection } from '../../crds/sso.ts'

type Connection = Pick<SsoConnection, 'spec' | 'status'>

/** Domains that count: those that the controller has seen the record of. */
export function verifiedDomains({ spec, status }: Connection): string[] {
  return spec.domains.filter((name) =>
    status?.domains?.some(({ domain, status: state }) => domain === name && state === 'Verified'),
  )
}

/** Whether anybody can sign in through it: somebody's domain, and a provider for it. */
export function isEnabled(connection: Connection): boolean {
  return (
    verifiedDomains(connection).length > 0 &&
    connection.spec.identityProviders.map(completeProvider).some(({ enabled }) => enabled)
  )
}

import { completeProvider } from '../../contracts/ssoProviders.ts'
import type { SsoConnection } from '../../crds/sso.ts'

type Connection = Pick<SsoConnection, 'spec' | 'status'>

/** Returns the domains whose DNS record the controller has verified. */
export function verifiedDomains({ spec, status }: Connection): string[] {
  return spec.domains.filter((name) =>
    status?.domains?.some(({ domain, status: state }) => domain === name && state === 'Verified'),
  )
}

/** Whether anybody can sign in through the connection: it needs a verified domain and an enabled provider. */
export function isEnabled(connection: Connection): boolean {
  return (
    verifiedDomains(connection).length > 0 &&
    connection.spec.identityProviders.map(completeProvider).some(({ enabled }) => enabled)
  )
}

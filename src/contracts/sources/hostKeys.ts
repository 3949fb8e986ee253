import { createHmac } from 'node:crypto'
import { CREDENTIAL_KEYS, type Credentials } from './providers.ts'

/** A connection over ssh, as far as its host key is concerned. */
export type SshConnection = {
  readonly baseUrl: string
  readonly credentials: Credentials
  /** The key that the host showed first, as `ssh-ed25519 AAAA...`. */
  readonly hostKey?: string | undefined
}

/**
 * Returns the lines of known_hosts that a connection trusts: those of its Secret, otherwise the host's first key.
 *
 * @returns undefined before the first connection, which accepts any key
 */
export function knownHostsOf({ baseUrl, credentials, hostKey }: SshConnection): string | undefined {
  const given = credentials[CREDENTIAL_KEYS.knownHosts]
  if (given !== undefined && given.trim() !== '') return given.replace(/\r\n?/g, '\n').replace(/\n*$/, '\n')
  return hostKey === undefined ? undefined : `${knownHostName(baseUrl)} ${hostKey}\n`
}

/** Returns the keys in lines of known_hosts for the host of an ssh address, as `ssh-ed25519 AAAA...`. */
export function hostKeysIn(knownHosts: string, baseUrl: string): string[] {
  const name = knownHostName(baseUrl)
  return knownHosts.split('\n').flatMap((line) => {
    const [names = '', type, key] = line.trim().split(/\s+/)
    return type !== undefined && key !== undefined && matchesHost(names, name) ? [`${type} ${key}`] : []
  })
}

/** Returns the name of a host in known_hosts: with its port if that is not 22. */
function knownHostName(baseUrl: string): string {
  const { hostname, port } = new URL(baseUrl)
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return port === '' || port === '22' ? host : `[${host}]:${port}`
}

/** Names are separated by commas, or hashed with a salt (sshd(8)). Wildcards and marks such as @revoked never match. */
function matchesHost(names: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(names) ?? []
  if (salt === undefined) return names.toLowerCase().split(',').includes(name)
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash
}

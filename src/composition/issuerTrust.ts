import { readFile } from 'node:fs/promises'
import type { Configuration } from '../config.ts'
import { withDefaultAuthorities } from '../core/authorities.ts'

type Options = Partial<Pick<Configuration, 'issuerCertificateAuthority'>>

/** Options of connections to the issuer. Without the setting, Node's own authorities count. */
export async function issuerTrust({ issuerCertificateAuthority: path }: Options): Promise<{ ca?: string[] }> {
  return path === undefined ? {} : { ca: withDefaultAuthorities(await readFile(path, 'utf8')) }
}

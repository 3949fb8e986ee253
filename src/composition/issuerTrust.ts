import { readFile } from 'node:fs/promises'
import type { Configuration } from '../config.ts'

type Options = Partial<Pick<Configuration, 'issuerCertificateAuthority'>>

/**
 * Options of connections to the issuer. The authorities of the setting replace those that Node trusts, as they do for the
 * API server: otherwise the facade would accept tokens of somebody whose keys the API server refuses.
 */
export async function issuerTrust({ issuerCertificateAuthority: path }: Options): Promise<{ ca?: string }> {
  return path === undefined ? {} : { ca: await readFile(path, 'utf8') }
}

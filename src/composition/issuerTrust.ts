import type { Configuration } from '../config.ts'
import { connectorTrusting } from '../core/authorities.ts'
import { currentFile } from '../core/currentFile.ts'

type Options = Partial<Pick<Configuration, 'issuerCertificateAuthority'>>

/** Returns the authorities of the setting, as the file holds them now. @throws Error if it cannot be read */
export const issuerAuthorities = ({ issuerCertificateAuthority: path }: Options): (() => string) | undefined =>
  path === undefined ? undefined : currentFile(path)

/**
 * Makes connections to the issuer. The authorities of the setting replace those that Node trusts, as they do for the API
 * server: otherwise the facade would accept tokens of somebody whose keys the API server refuses.
 */
export const issuerConnector = (options: Options) => connectorTrusting(issuerAuthorities(options))

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SourceError } from './port.ts'

const TYPES = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521))$/
const UNREADABLE =
  'The private key cannot be read: give an Ed25519, ECDSA or RSA key as ssh-keygen writes it, from BEGIN to END.'

const rejected = (message: string, cause?: unknown) => new SourceError('CredentialRejected', message, cause)

/**
 * Converts a private key to a form that both the platform and the `ssh` program of builds can read.
 *
 * @param text OpenSSH or PEM
 * @throws SourceError CredentialRejected for a key with a passphrase, or an invalid one
 */
export async function readPrivateKey(text: string): Promise<string> {
  if (text === '')
    throw rejected('There is no private key: the Secret of the source is missing, or has no entry private-key.')
  const { utils } = (await import('ssh2')).default
  const given = /-----BEGIN PRIVATE KEY-----/.test(text) ? withoutPkcs8(text) : text
  const key = utils.parseKey(given)
  const isEncrypted = /ENCRYPTED/.test(text) || (key instanceof Error && /^Encrypted /.test(key.message))
  if (isEncrypted)
    throw rejected(
      'The private key is protected by a passphrase, which cannot be entered here: give a key without one.',
    )
  if (key instanceof Error || !key.isPrivateKey() || !TYPES.test(key.type) || !given.startsWith('-----BEGIN'))
    throw rejected(UNREADABLE)
  return given
}

/** Converts PKCS #8 to PKCS #1 or SEC1. For Ed25519, older versions of ssh only read the OpenSSH format. */
function withoutPkcs8(text: string): string {
  let key: KeyObject
  try {
    key = createPrivateKey(text)
  } catch (error) {
    throw rejected(UNREADABLE, error)
  }
  if (key.asymmetricKeyType === 'rsa') return key.export({ type: 'pkcs1', format: 'pem' }).toString()
  if (key.asymmetricKeyType === 'ec') return key.export({ type: 'sec1', format: 'pem' }).toString()
  throw rejected(UNREADABLE)
}

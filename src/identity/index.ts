export { type ClientStore, type IdentityClient, kubeClientStore } from './clients.ts'
export { type FirstOwner, firstOwner } from './firstOwner.ts'
export { KEYS_SECRET, type KeyStore, secretKeyStore, watchKeys } from './keyStore.ts'
export {
  createIdentityProvider,
  type IdentityLimits,
  type IdentityProvider,
  type IdentityProviderOptions,
} from './provider.ts'
export { type IdentityServers, type IdentityServersOptions, startIdentityServers } from './servers.ts'
export { openSigningKeys, type SigningKeys, type SigningKeysOptions } from './signingKeys.ts'

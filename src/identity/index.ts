export { type ArrivalsOptions, kubeArrivals } from './arrivals.ts'
export { type ClientStore, type IdentityClient, kubeClientStore } from './clients.ts'
export { type ExternalFetch, kubeConnections } from './connections.ts'
export { type FirstOwner, firstOwner } from './firstOwner.ts'
export { countGuesses, DEFAULT_GUESS_LIMITS } from './guesses.ts'
export { KEYS_SECRET, type KeyStore, secretKeyStore, watchKeys } from './keyStore.ts'
export { createLastSeen, type LastSeen } from './lastSeen.ts'
export {
  hashPassword,
  PASSWORD_ENTRY,
  type PasswordVerifier,
  passwordSecretName,
  secretPasswords,
} from './passwords.ts'
export {
  createIdentityProvider,
  type IdentityLimits,
  type IdentityProvider,
  type IdentityProviderOptions,
} from './provider.ts'
export { COMMAND_LINE_CLIENT } from './publicClients.ts'
export { type IdentityServers, type IdentityServersOptions, startIdentityServers } from './servers.ts'
export { openSigningKeys, type SigningKeys, type SigningKeysOptions } from './signingKeys.ts'
export { STATE_LABELS, STATE_USER_LABEL, type StateStore, secretStateStore } from './state.ts'
export { createSweeper, type Sweeper } from './sweeper.ts'
export { type IdentityUser, kubeUserStore, type UserStore } from './users.ts'

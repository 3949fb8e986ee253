import manifest from '../../package.json' with { type: 'json' }

/** The version of this release (SemVer), of the platform and of its command-line client alike. */
export const VERSION: string = manifest.version

/** The oldest supported minor version of Kubernetes 1. */
export const OLDEST_KUBERNETES_MINOR = 34

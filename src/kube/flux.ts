import { optionalResource } from './builtin.ts'
import type { Resource } from './object.ts'

export const helmRelease = optionalResource('helm.toolkit.fluxcd.io', 'HelmRelease', { version: 'v2' })
export const ociRepository = optionalResource('source.toolkit.fluxcd.io', 'OCIRepository')

export const FLUX_RESOURCES: readonly Resource[] = [helmRelease, ociRepository]

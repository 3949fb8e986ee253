import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

export const helmRelease = optional('helm.toolkit.fluxcd.io', 'HelmRelease', { version: 'v2' })
export const ociRepository = optional('source.toolkit.fluxcd.io', 'OCIRepository')

export const FLUX: readonly Resource[] = [helmRelease, ociRepository]

import { z } from 'zod'
import { Image, listSettingMatching, Networks, Quantity } from './fields.ts'

export const buildSettings = {
  buildImage: Image.optional().describe(
    'Image of builds, which `npm run image` creates as freehold-builder; builds need it and registryUrl. Where pods are simulated, so are builds',
  ),
  buildNetworks: Networks.default([]).describe(
    'Networks that builds can reach, in addition to DNS and the host of their repository: the registry, and the sources of packages and base images. Such as 10.1.0.0/16 or, with TCP ports, 10.1.2.3/32@443+5000; 0.0.0.0/0 excludes closedNetworks and internal addresses',
  ),
  buildImageMirror: z
    .string()
    .max(255)
    .regex(/^[\w.[\]:-]+(\/[\w.-]+)*$/, 'must be a host, with its port and path, and without https://')
    .optional()
    .describe('Mirror from which builds pull images of other registries, as host, with port and path'),
  buildPackageMirrors: listSettingMatching(
    /^(npm|pypi|go|maven)=https?:\/\/\S+$/,
    'expected npm, pypi, go or maven, = and an address',
  )
    .default([])
    .describe('Package registries that replace the public ones, such as npm=https://packages.example.com/npm/'),
  buildScannerImage: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Image that creates the SBOMs of built images; none are created when absent'),
  buildCpuLimit: Quantity.default('2').describe('CPU limit of a build'),
  buildMemoryLimit: Quantity.default('2Gi').describe('Memory limit of a build'),
  buildDiskLimit: Quantity.default('10Gi').describe('Maximum disk space of a build, freed when it ends'),
  buildNodeSelector: listSettingMatching(/^[^=\s]+=[^=\s]*$/, 'expected the label of nodes, such as builds=only')
    .default([])
    .describe('Labels of the nodes that builds run on; all nodes when empty'),
  buildRuntimeClass: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('RuntimeClass of the pods of builds, such as that of a sandbox'),
}

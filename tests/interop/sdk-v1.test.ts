/** mcpx in front of UPSTREAMS.v1 is that server, for every client and feature. */
import { matrix } from './matrix.ts';
import { UPSTREAMS } from './upstreams.ts';

matrix(UPSTREAMS.v1);

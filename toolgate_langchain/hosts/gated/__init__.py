"""`GatedAgent`: the loop around any model or chain, with langchain-core alone."""
